/** Numbers, sizes, days and ages in words. */

// Made once: a formatter takes a hundred times longer to make than to use.
const NUMBERS = new Intl.NumberFormat("en");
const MOMENTS = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const DAYS = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const WEEKDAYS = new Intl.DateTimeFormat("en-GB", { weekday: "long" });

/** @param {number} bytes */
export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(unit === 0 || value >= 100 ? 0 : 1)} ${units[unit]}`;
}

/** @param {number} value */
export function count(value) {
  return NUMBERS.format(value);
}

/**
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** @param {number} ms a duration */
export function lasting(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} days`;
}

/** @param {number | null} at epoch milliseconds */
export function ago(at) {
  if (at === null) return "never";
  const ms = Date.now() - at;
  return ms < 5000 ? "just now" : `${lasting(ms)} ago`;
}

/** @param {number} at epoch milliseconds */
export function moment(at) {
  return MOMENTS.format(at);
}

/** @param {Date} day */
function iso(day) {
  return `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, "0")}-${String(day.getDate()).padStart(2, "0")}`;
}

/** @param {number} at epoch milliseconds */
export function dayOf(at) {
  return iso(new Date(at));
}

/**
 * Return how a day is called, and its date in full.
 * @param {string} date YYYY-MM-DD
 */
export function dayName(date) {
  const day = new Date(`${date}T12:00:00`);
  if (Number.isNaN(day.getTime())) return { name: date, full: "" };
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  const full = DAYS.format(day);
  if (date === iso(today)) return { name: "Today", full };
  if (date === iso(yesterday)) return { name: "Yesterday", full };
  return { name: WEEKDAYS.format(day), full };
}

/**
 * Return the Monday of a day's week.
 * @param {string} date YYYY-MM-DD
 */
export function weekOf(date) {
  const day = new Date(`${date}T12:00:00`);
  day.setDate(day.getDate() - ((day.getDay() + 6) % 7));
  return iso(day);
}

/** @param {{start_line: number, end_line: number}} hit */
export function lineRange(hit) {
  return hit.start_line === hit.end_line ? `line ${hit.start_line}` : `lines ${hit.start_line} to ${hit.end_line}`;
}
