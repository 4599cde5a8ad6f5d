// The public types of `memd-client`; messages.d.ts has those of requests and replies.
// They depend on no other package: types that Node and the DOM both declare are declared structurally here.

/// <reference lib="esnext.disposable" />

import type {
  ErrorCode,
  Event,
  Progress,
  Requests,
  SubscribeParams,
  SubscribeReply,
  GetReply,
  HelloReply,
} from "./messages.js";

export type * from "./messages.js";

/** The protocol version of this client. */
export const PROTOCOL_VERSION: number;
/** The release of this client. */
export const CLIENT_VERSION: string;
/** The names of all requests of the protocol. */
export const REQUESTS: readonly (keyof Requests)[];
/** All error codes. */
export const ERROR_CODES: readonly ErrorCode[];

/** What a model is told once beside blocks of text of other people. */
export const OUTSIDE_NOTICE: string;
/** Return text of other people in a block for a prompt, which it can't close; `why` tells where it is from. */
export function outsideBlock(text: string, why?: string): string;
/** Return a hit whose snippet may be put into a prompt: in a block if its `origin` is `outside`. */
export function labelledHit<T extends { snippet: string; origin?: string; origin_reason?: string; spans?: unknown }>(hit: T): T;
/** Return the text of a reply to `get` for a prompt: the lines of other people are in blocks. */
export function textOfGet(reply: Pick<GetReply, "text" | "from_line" | "line_numbers" | "origins">): string;

/** The part of `AbortSignal` that the client uses; that of Node and that of the DOM are assignable. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface ClientOptions {
  /** The daemon's socket; by default, that of `socketPath()`. */
  socketPath?: string;
  /** The agent of calls that name none; by default, the daemon's default agent. */
  agent?: string;
  /** The longest time a request may take, in milliseconds, connecting included (default 30000); null: no limit. */
  timeoutMs?: number | null;
  /** The longest time connecting and greeting may take, in milliseconds (default 5000). */
  connectTimeoutMs?: number;
  /** Start the daemon if none listens (default false); it must be installed on this machine. */
  autostart?: boolean;
  /** The command that `autostart` runs; by default, `memd` from PATH or `~/.local/bin`. */
  daemonCommand?: string[];
  /**
   * The state folder of the agents, such as `~/.openclaw-work`; by default, that of `OPENCLAW_STATE_DIR` or the user's
   * default folder; empty: any. A daemon of another folder refuses this client.
   */
  stateDir?: string;
  /** The name of this client in the daemon's log (default `memd-client-node`). */
  clientName?: string;
}

export interface CallOptions {
  /** Cancels the request, at the daemon too; the call fails with `cancelled`. */
  signal?: Signal;
  /** The longest time this call may take, in milliseconds, connecting and starting the daemon included; null: no limit. */
  timeoutMs?: number | null;
  /** Called with each progress of the request. */
  onProgress?: (progress: Progress) => void;
  /** Whether to send it again if the connection breaks before the reply; by default, this depends on the request. */
  repeatable?: boolean;
}

/** The name of a request's method: `memory_store` becomes `memoryStore`. */
export type MethodName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<MethodName<Tail>>}`
  : Name;

/** The arguments of a request's method; `params` is optional if all its fields are. */
export type Arguments<Params> = {} extends Params
  ? [params?: Params, options?: CallOptions]
  : [params: Params, options?: CallOptions];

/** Requests with one reply: all but `subscribe`, which has a method of its own, and `cancel`, which a signal sends. */
export type CallName = Exclude<keyof Requests, "subscribe" | "cancel">;

type Methods = {
  [Name in CallName as MethodName<Name>]: (
    ...given: Arguments<Requests[Name]["params"]>
  ) => Promise<Requests[Name]["reply"]>;
};

/** A client of the daemon: one connection, any number of concurrent requests. */
export interface Client extends Methods {
  readonly socketPath: string;
  /** The daemon's reply to the greeting; null while there is no connection. */
  readonly daemon: HelloReply | null;
  /** Send a request by its name and return its reply. */
  request<Name extends CallName>(
    name: Name,
    ...given: Arguments<Requests[Name]["params"]>
  ): Promise<Requests[Name]["reply"]>;
  /** Send a request that only a newer daemon knows. */
  request(
    name: string,
    params?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<Record<string, unknown>>;
  /** Return an async iterator over the daemon's events from now on; the signal ends it. */
  subscribe(params?: SubscribeParams, options?: { signal?: Signal }): Subscription;
  /** Close the connection; running requests fail with `connection_lost`. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const Client: new (options?: ClientOptions) => Client;

/** An open subscription: an async iterator that ends when the loop is left, it is closed or its signal aborts. */
export interface Subscription extends AsyncIterableIterator<Event, undefined> {
  /** How many events the client dropped, oldest first, because they were iterated too slowly. */
  readonly dropped: number;
  /** The reply if the daemon ended it; null until then. */
  readonly reply: SubscribeReply | null;
  /** Resolves when the request was sent, or rejects if it could not be sent. */
  readonly opened: Promise<void>;
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** An error of the daemon or of the connection to it. */
export class MemdError extends Error {
  constructor(
    code: ErrorCode | (string & {}),
    message?: string,
    more?: { hint?: string; data?: Record<string, unknown>; cause?: unknown },
  );
  /** A code of docs/errors.md; an unknown one of a newer daemon is kept unchanged. */
  readonly code: ErrorCode | (string & {});
  /** What to do about the error. */
  readonly hint: string;
  readonly data: Record<string, unknown>;
  /** Whether the same request may succeed if it is sent again in a moment. */
  readonly retryable: boolean;
  toWire(): { code: string; message: string; data: Record<string, unknown> };
  static fromWire(value: unknown): MemdError;
}

/** The path of the daemon's socket; `environ` is by default the environment of the process. */
export function socketPath(environ?: Record<string, string | undefined>): string;
/** Return vectors as bytes: packed little-endian float32. */
export function packVectors(vectors: Iterable<Float32Array | number[]>): Uint8Array;
/** Return the vectors of a reply to `embed`, one for each text. */
export function unpackVectors(reply: { vectors: Uint8Array; count: number; dims: number }): Float32Array[];
