// Asking the service, with the token that it may want.

import { get } from "/dom.js";

let token = sessionStorage.getItem("token");

export const hasToken = () => Boolean(token);

/** Its answer, or an error whose message is a sentence to show. */
export async function ask(path, options = {}) {
  const headers = token ? { Authorization: `Bearer ${token}` } : {};
  let answer;
  try {
    answer = await fetch(path, { ...options, headers });
  } catch {
    throw new Error("The service cannot be reached, or closed the connection: is it running?");
  }
  const told = await answer.json().catch(() => ({}));
  if (answer.ok) return told;
  if (answer.status === 401) {
    get("token").hidden = false;
    get("token-input").focus();
  }
  const sentence = told.error ?? `The service answered ${answer.status}.`;
  throw Object.assign(new Error(sentence[0].toUpperCase() + sentence.slice(1)), { status: answer.status });
}

/** Keep the token that is typed in, then go on. */
export function onToken(goOn) {
  get("token").addEventListener("submit", (event) => {
    event.preventDefault();
    token = get("token-input").value.trim();
    sessionStorage.setItem("token", token);
    get("token").hidden = true;
    goOn();
  });
}
