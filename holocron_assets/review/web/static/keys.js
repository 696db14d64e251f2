// Keyboard shortcuts. Every page works without them: a key presses a button, follows a link or goes to a field.
"use strict";

const FIELDS = "input, select, textarea";

function move(step) {
  const rows = [...document.querySelectorAll("a.row")];
  if (!rows.length) return;
  const now = rows.indexOf(document.activeElement);
  const place = now < 0 ? 0 : Math.min(Math.max(now + step, 0), rows.length - 1);
  rows[place].focus();
}

function target(key) {
  const name = CSS.escape(key);
  return document.querySelector(`[data-key="${name}"]`) || (key === "a" && document.querySelector("button.proposal"));
}

// Caps Lock turns letters round, and must not turn the meaning of a key round: only Shift counts.
function keyOf(event) {
  if (event.key.length > 1) return event.key;
  return event.shiftKey ? event.key.toUpperCase() : event.key.toLowerCase();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.matches(FIELDS)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const key = keyOf(event);
  const field = document.querySelector(`[data-focus="${CSS.escape(key)}"]`);
  const pressed = target(key);
  if (key === "j") move(1);
  else if (key === "k") move(-1);
  else if (field) field.focus();
  else if (pressed) pressed.click();
  else return;
  event.preventDefault();
});
