// Compiled only: uses of the client that TypeScript must accept, and uses that it must reject.

import {
  Client,
  ERROR_CODES,
  MemdError,
  REQUESTS,
  type ErrorCode,
  type Requests,
  unpackVectors,
} from "../lib/index.js";

const client = new Client({ timeoutMs: 2000, autostart: true });

export async function use(signal: AbortSignal): Promise<string[]> {
  const { hits, degraded } = await client.search({ query: "port", max_results: 3 }, { signal });
  const hint: string | undefined = degraded?.hint;
  const stored = await client.memoryStore({ text: "x", vector: Float32Array.of(1) }, { timeoutMs: null });
  const status = await client.status();
  const again = await client.request("get", { path: hits[0].path });
  const unknown: unknown = (await client.request("of_the_future", { any: 1 })).thing;
  const rows: Float32Array[] = unpackVectors(await client.embed({ texts: ["x"] }));
  await client.index({}, { onProgress: ({ stage, done }) => console.log(stage, done) });
  for await (const { kind, data } of client.subscribe({ kinds: ["sync"] }, { signal }))
    console.log(kind, data);
  return [again.text, stored.id, status.agents[0].agent, String(unknown), String(rows.length), hint ?? ""];
}

export function retryableCode(error: unknown): ErrorCode | string {
  return error instanceof MemdError && error.retryable ? error.code : "";
}

export const names: readonly (keyof Requests)[] = REQUESTS;
export const codes: readonly ErrorCode[] = ERROR_CODES;

// @ts-expect-error `query` is required
void client.search({});
// @ts-expect-error parameters are required
void client.get();
// @ts-expect-error `query` is not a number
void client.search({ query: 3 });
// @ts-expect-error the reply has no such field
void client.status().then((status) => status.weather);
// @ts-expect-error a subscription has a method of its own
void client.request("subscribe", { agent: 3 }).then((reply) => reply.events.toFixed());
