/**
 * Definitions of the tools for a model. Registration can't wait for the daemon, so the plugin has its own copy; a test
 * compares it with the daemon's reply to `tools`.
 */

/** @import { ToolDefinition } from "./types.js" */

/** @param {string} description */
const text = (description) => ({ type: "string", minLength: 1, description });

/** These are called by their names: they aren't hidden behind OpenClaw's search for tools, which is on by default. */
const DIRECT = "direct-only";

const LINES = { type: "integer", minimum: 1 };

/** Default of `maxChars` of `memory_search`: characters of all excerpts together, about 1,000 tokens. */
export const DEFAULT_SEARCH_CHARS = 4200;

/** Maximum of `maxChars`. */
export const MAX_SEARCH_CHARS = 50_000;

/** @type {readonly ToolDefinition[]} */
export const DEFINITIONS = [
  {
    name: "memory_search",
    label: "Memory Search",
    catalogMode: DIRECT,
    description:
      "Look something up in long-term memory (MEMORY.md, USER.md and the notes in memory/), with keyword and vector search. " +
      "Call it before answering about earlier work, decisions, dates, people, preferences or tasks. Answers with short " +
      "excerpts, best first, each with its path and lines; an answer without any says why. An excerpt with relevance weak is " +
      "hardly related; one with supersededBy is outdated by the statement at that place.",
    parameters: {
      type: "object",
      properties: {
        query: text("What to look for, in any language; a question or a few significant words."),
        maxResults: {
          type: "integer",
          minimum: 1,
          description: "How many excerpts at most, up to 50; as many as fit maxChars if left out.",
        },
        maxChars: {
          type: "integer",
          minimum: 1,
          description: `How many characters all excerpts have at most, up to 50,000; ${DEFAULT_SEARCH_CHARS} if left out.`,
        },
        minScore: {
          type: "number",
          description: "Leave out what scores lower, from 0 to 1. 0 returns the nearest notes even if none is relevant.",
        },
        corpus: {
          type: "string",
          enum: ["memory", "sessions", "wiki", "all"],
          description:
            "What to search: memory (notes), sessions (past conversations), wiki (wikis of other plugins) or all. " +
            "Notes and what is indexed of conversations if left out.",
        },
        origin: {
          type: "string",
          enum: ["user", "agent", "program", "outside"],
          description:
            "Only the words of: user, agent, program (tool output) or outside (web pages, mail, other people). All if left out.",
        },
      },
      required: ["query"],
      additionalProperties: false,
    },
  },
  {
    name: "memory_get",
    label: "Memory Get",
    catalogMode: DIRECT,
    description: "Read lines of one memory file, for more than the excerpt a search showed. Ask for the lines you need.",
    parameters: {
      type: "object",
      properties: {
        path: text("The file as memory_search names it, such as memory/2026-01-16.md; relative to the workspace."),
        from: { ...LINES, description: "First line, counted from 1." },
        lines: { ...LINES, description: "How many lines; all that follow if left out. An answer has at most 50,000 characters." },
        corpus: {
          type: "string",
          enum: ["memory", "wiki", "all"],
          description: "memory (notes) if left out; wiki for the path of a wiki result; all tries both.",
        },
      },
      required: ["path"],
      additionalProperties: false,
    },
  },
  {
    name: "memory_store",
    label: "Memory Store",
    description:
      "Keep one lasting fact about the user or the work: a preference, a decision, a name. One sentence that can be " +
      "understood on its own; no secrets. Duplicates are not stored.",
    parameters: {
      type: "object",
      properties: {
        text: { ...text("The fact, in one sentence."), maxLength: 4000 },
        importance: { type: "number", description: "How much it matters, from 0 to 1; 0.7 if left out." },
        category: {
          type: "string",
          enum: ["preference", "fact", "decision", "entity", "other"],
          description: "The category of the fact; derived from the text if left out.",
        },
      },
      required: ["text"],
      additionalProperties: false,
    },
  },
  {
    name: "memory_recall",
    label: "Memory Recall",
    description: "Find stored facts about a subject, best first, each with the id that memory_forget takes.",
    parameters: {
      type: "object",
      properties: {
        query: text("What the facts should be about."),
        limit: { type: "integer", minimum: 1, description: "How many, up to 50; 5 if left out." },
      },
      required: ["query"],
      additionalProperties: false,
    },
  },
  {
    name: "memory_forget",
    label: "Memory Forget",
    description:
      "Remove one stored fact. An id removes that fact. A query removes a fact only if it says nearly the same (score at " +
      "least 0.9) and no other fact is nearly as close; else nothing is removed, and the nearest facts are listed with " +
      "their ids.",
    parameters: {
      type: "object",
      properties: {
        id: text("The fact's id, from memory_recall."),
        query: text("The text of the fact, if its id isn't known."),
      },
      required: [],
      additionalProperties: false,
    },
  },
];

/** What an agent gets without the fact tools. */
export const USUAL = new Set(["memory_search", "memory_get"]);
