/** The keys, in a dialog. */

import { html } from "../../vendor/lit-html/lit-html.js";
import { VIEWS } from "../address.js";
import { hideHelp } from "../places.js";

const KEYS = [
  ["/", "search"], ["j  k", "next, previous"], ["Enter", "open what is in focus"], ["e", "edit the fact, or explain the hit"],
  ["f", "forget the fact"], [`1 – ${VIEWS.length}`, VIEWS.map(({ label }) => label.toLowerCase()).join(", ")], ["n  p", "next, previous match in the open file"], ["r", "the open file: rendered or source"], ["t", "light or dark"], ["Esc", "close, leave, go back"], ["?", "these keys"],
];

export function helpView() {
  return html`<dialog id="help" aria-labelledby="help-title" @close=${hideHelp}>
    <h2 id="help-title">Keys</h2>
    <dl class="keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${what}</dd>`)}</dl>
    <p class="quiet small">This page comes from the daemon on this machine and closes soon after its last tab. Nothing of it is kept in the browser, and nothing leaves the machine.</p>
    <form method="dialog"><p><button class="button">Close</button></p></form>
  </dialog>`;
}
