/** The parts of a hit in the order in which they are shown, as `memd_client.hit_text` has them. Pure. */

/** What precedes hits that are all weak. */
export const NO_STRONG_MATCH = "No strong match. Weakly related:";

const CUT_MARK = "…"; // of an excerpt that starts or ends inside a sentence or a list item
const MAX_NAME_CHARS = 80;

/**
 * Return the parts of a hit; the empty ones are not shown.
 * @param {Record<string, any>} hit
 */
export function partsOf(hit) {
  const later = hit["superseded_by"];
  return {
    place: hit["citation"] + (hit["agent"] ? `  agent ${hit["agent"]}` : ""),
    date: hit["date"],
    relevance: `${hit["relevance"]} ${hit["score"].toFixed(2)}${hit["copies"] > 1 ? `  ${hit["copies"]} copies` : ""}`,
    conversation: hit["session"] ? conversationOf(hit["session"]) : "",
    superseded_by: later ? `${later.citation} (${later.date})` : "",
    heading: hit["heading"],
    excerpt: (hit["is_cut_above"] ? CUT_MARK : "") + hit["snippet"].replace(/^[\r\n]+|[\r\n]+$/g, "") + (hit["is_cut_below"] ? CUT_MARK : ""),
    currency: hit["currency"] ? `now: ${hit["currency"].text}` : "",
    origin: ["program", "outside"].includes(hit["origin"]) ? `${hit["origin"]}${hit["origin_reason"] ? `: ${cut(hit["origin_reason"])}` : ""}` : "",
  };
}

/**
 * Return a hit as text.
 * @param {Record<string, any>} hit
 */
export function textOf(hit) {
  const { place, date, relevance, conversation, superseded_by: later, heading, excerpt, currency } = partsOf(hit);
  const title = [place, date, relevance].filter(Boolean).join("  ");
  return [title, conversation, later && `superseded by ${later}`, heading && `# ${heading}`, excerpt, currency].filter(Boolean).join("\n");
}

/** @param {Record<string, any>} session */
function conversationOf({ title, project, branch, program, deleted }) {
  const name = project.replace(/\/+$/, "").split("/").at(-1) ?? "";
  const place = name && branch ? `${name} (${branch})` : name;
  return [cut(title), cut(place), program, deleted ? "deleted there, kept here" : ""].filter(Boolean).join(" · ");
}

/** @param {string} name */
function cut(name) {
  const line = name.split(/\s+/).filter(Boolean).join(" ");
  const characters = [...line];
  return characters.length <= MAX_NAME_CHARS ? line : `${characters.slice(0, MAX_NAME_CHARS - 1).join("")}${CUT_MARK}`;
}
