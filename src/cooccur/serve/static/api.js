// The service, asked politely: one place for requests, the token and what a failure means in plain words.

/** What went wrong, in words; `kind` is offline, busy, token or refused. */
export class Trouble extends Error {
  constructor(kind, message, remedy = "") {
    super(message);
    Object.assign(this, { kind, remedy });
  }
}

export const token = {
  get: () => sessionStorage.getItem("token") ?? "",
  set: (text) => sessionStorage.setItem("token", text),
};

async function ask(path, options = {}) {
  const headers = { Accept: "application/json", ...options.headers };
  if (token.get()) headers.Authorization = `Bearer ${token.get()}`;
  let answer, body;
  try {
    answer = await fetch(path, { ...options, headers });
    body = await answer.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (answer && answer.status < 500) throw new Trouble("refused", `The service's answer cannot be read (${answer.status}).`);
    throw new Trouble("offline", "The service does not answer.", "Is cooccur serve still running? Trying again by itself.");
  }
  if (answer.ok) return { status: answer.status, body };
  const { message = `The service answers ${answer.status}.`, remedy = "" } = body?.error ?? {};
  const kind = { 401: "token", 429: "busy", 503: "busy" }[answer.status] ?? (answer.status >= 500 ? "offline" : "refused");
  throw new Trouble(kind, message, remedy);
}

export const get = async (path, query = {}, signal = undefined) => {
  const text = new URLSearchParams(query).toString();
  return (await ask(`api/v1/${path}${text ? "?" + text : ""}`, { signal })).body;
};

export const post = async (path, body, signal = undefined) =>
  (await ask(`api/v1/${path}`, {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" }, signal,
  })).body;

/** Something that may still be in the making: `waiting(share)` is called until it is there. */
export async function made(path, waiting) {
  for (let pause = 300; ; pause = Math.min(2000, pause * 1.4)) {
    const { status, body } = await ask(`api/v1/${path}`);
    if (status !== 202) return body;
    waiting(body.share ?? 0);
    await new Promise((done) => setTimeout(done, pause));
  }
}

/** Whether the service is up and has its model. */
export const ready = () => fetch("readyz").then((answer) => answer.ok, () => false);
