/** Light and dark theme: the system's, until the user chooses. The choice lasts as long as the tab. */

import { changed } from "./state.js";

const KEY = "theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Take up what was chosen in this tab before. */
export function startTheme() {
  const chosen = sessionStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  system.addEventListener("change", changed);
}

export function isDark() {
  return (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
}

export function toggleTheme() {
  const chosen = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = chosen;
  sessionStorage.setItem(KEY, chosen);
  changed();
}
