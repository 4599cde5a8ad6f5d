/** Numbers, sizes, days and ages in words. */

// Made once: a formatter takes a hundred times longer to make than to use.
const NUMBERS = new Intl.NumberFormat("en");
const MOMENTS = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { timeStyle: "short" });
const DAYS = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const SHORT_DAYS = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const MONTHS = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });
const WEEKDAYS = new Intl.DateTimeFormat("en-GB", { weekday: "long" });

/**
 * Return a number with so many decimals. Ties go to the even digit, as they do on the command line.
 * @param {number} value
 * @param {number} [decimals]
 */
function fixed(value, decimals = 0) {
  const text = value.toFixed(decimals);
  const isTie = Math.abs(value * 2 ** (decimals + 1)) % 2 === 1; // a power of two scales a number exactly
  return isTie && Number(text.at(-1)) % 2 === 1 ? (value - 0.25 / 10 ** decimals).toFixed(decimals) : text;
}

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** @type {[number, string][]} */
const LARGE_UNITS = [[DAY, "d"], [HOUR, "h"], [MINUTE, "min"]];
/** Younger than this is "just now". */
const FRESH = 2 * SECOND;

/**
 * Return bytes in decimal units with three significant digits, as `3.14 MB`.
 * @param {number} bytes
 */
export function size(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  let amount = bytes / 1000;
  for (const unit of ["kB", "MB", "GB"]) {
    if (amount < 999.5) return `${threeDigits(amount)} ${unit}`;
    amount /= 1000;
  }
  return `${threeDigits(amount)} TB`;
}

/** @param {number} amount */
function threeDigits(amount) {
  if (amount < 9.995) return fixed(amount, 2);
  return amount < 99.95 ? fixed(amount, 1) : count(Number(fixed(amount)));
}

/** @param {number} value */
export function count(value) {
  return NUMBERS.format(value);
}

/**
 * Return a count from 100,000 on with three significant digits.
 * @param {number} value
 */
export function rough(value) {
  const unit = 10 ** Math.max(0, String(value).length - 3);
  return count(value < 100_000 ? value : Number(fixed(value / unit)) * unit);
}

/**
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/**
 * Return a duration with its two leading units, as `4.2 ms` or `3 h 12 min`.
 * @param {number} ms
 */
export function span(ms) {
  if (ms < 9.95) return `${fixed(ms, 1)} ms`;
  if (ms < 999.5) return `${fixed(ms)} ms`;
  if (ms < 59_950) return `${fixed(ms / SECOND, 1)} s`;
  const whole = Number(fixed(ms / SECOND)) * SECOND;
  if (whole < HOUR) return twoUnits(whole, MINUTE, "min", SECOND, "s");
  if (whole < DAY) return twoUnits(whole, HOUR, "h", MINUTE, "min");
  return twoUnits(whole, DAY, "d", HOUR, "h");
}

/**
 * @param {number} ms
 * @param {number} large
 * @param {string} largeUnit
 * @param {number} small
 * @param {string} smallUnit
 */
function twoUnits(ms, large, largeUnit, small, smallUnit) {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeUnit}${rest ? ` ${rest} ${smallUnit}` : ""}`;
}

/**
 * Return how long ago something was, in its largest unit.
 * @param {number | null} at epoch milliseconds; null if it has not happened
 * @param {number} [now]
 */
export function ago(at, now = Date.now()) {
  if (at === null) return "never";
  const age = now - at;
  if (age < FRESH) return "just now";
  const [ms, unit] = LARGE_UNITS.find(([each]) => age >= each) ?? [SECOND, "s"];
  return `${Math.floor(age / ms)} ${unit} ago`;
}

/**
 * Return an estimated duration in one whole unit, at least a second.
 * @param {number} ms
 */
export function about(ms) {
  const [unit, name] = LARGE_UNITS.find(([each]) => ms >= 2 * each) ?? [SECOND, "s"];
  return `${fixed(unit === SECOND ? Math.max(1, ms / SECOND) : ms / unit)} ${name}`;
}

/**
 * Return a share in whole percent, which is 100 only if nothing is missing.
 * @param {number} done
 * @param {number} total
 */
export function percent(done, total) {
  return `${done < total ? Math.min(99, Math.floor((100 * done) / total)) : 100} %`;
}

/** @param {number} at epoch milliseconds */
export function clockTime(at) {
  return CLOCK.format(at);
}

/** @param {number} at epoch milliseconds */
export function moment(at) {
  return MOMENTS.format(at);
}

/**
 * Return a day without its year.
 * @param {string} date YYYY-MM-DD
 */
export function shortDay(date) {
  return SHORT_DAYS.format(new Date(`${date}T12:00:00`));
}

/**
 * Return a month in words.
 * @param {string} month YYYY-MM
 */
export function monthName(month) {
  return MONTHS.format(new Date(`${month}-15T12:00:00`));
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
