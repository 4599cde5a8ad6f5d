// What `memd-client` offers. The types of requests and replies are in messages.d.ts.
// They need no other package: what Node and the DOM both declare is described here by its shape.

/// <reference lib="esnext.disposable" />

import type {
  ErrorCode,
  Event,
  Progress,
  Requests,
  SubscribeParams,
  SubscribeReply,
  HelloReply,
} from "./messages.js";

export type * from "./messages.js";

/** The version of the protocol this client speaks. */
export const PROTOCOL_VERSION: number;
/** The release of this client. */
export const CLIENT_VERSION: string;
/** The names of all requests of the protocol. */
export const REQUESTS: readonly (keyof Requests)[];
/** Every error code there is. */
export const ERROR_CODES: readonly ErrorCode[];

/** What the client needs of an `AbortSignal`; that of Node and that of the DOM fit. */
export interface Signal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: "abort", listener: () => void, options?: { once?: boolean }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

export interface ClientOptions {
  /** Where the daemon listens; found as docs/protocol.md says when left out. */
  socketPath?: string;
  /** The agent meant where a call names none; the daemon's default agent when left out. */
  agent?: string;
  /** How long a request may take in milliseconds, connecting included (default 30000); null: as long as it lives. */
  timeoutMs?: number | null;
  /** How long connecting and greeting may take, in milliseconds (default 5000). */
  connectTimeoutMs?: number;
  /** Start the daemon if none answers (default false); it must be installed on this machine. */
  autostart?: boolean;
  /** The command that starts it; `memd` from PATH or `~/.local/bin` when left out. */
  daemonCommand?: string[];
  /** What the client calls itself in the daemon's log. */
  clientName?: string;
}

export interface CallOptions {
  /** Gives the request up: the daemon is told to stop it, and the call fails with `cancelled`. */
  signal?: Signal;
  /** How long this call may take in milliseconds, connecting and starting the daemon included; null: no end. */
  timeoutMs?: number | null;
  /** Called with every progress of the request. */
  onProgress?: (progress: Progress) => void;
  /** Whether to send it again where the connection broke before the reply; known of each request when left out. */
  repeatable?: boolean;
}

/** `memory_search` as the method `memorySearch`. */
export type MethodName<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<MethodName<Tail>>}`
  : Name;

/** Parameters may be left out as a whole where every single one may. */
export type Arguments<Params> = {} extends Params
  ? [params?: Params, options?: CallOptions]
  : [params: Params, options?: CallOptions];

/** Requests with one reply; `subscribe` has a method of its own, and a signal cancels. */
export type CallName = Exclude<keyof Requests, "subscribe" | "cancel">;

type Methods = {
  [Name in CallName as MethodName<Name>]: (
    ...given: Arguments<Requests[Name]["params"]>
  ) => Promise<Requests[Name]["reply"]>;
};

/** A client of the daemon: one connection, any number of requests at the same time. */
export interface Client extends Methods {
  readonly socketPath: string;
  /** What the daemon said of itself in its greeting; null while there is no connection. */
  readonly daemon: HelloReply | null;
  /** Send a request by its name and return its reply. */
  request<Name extends CallName>(
    name: Name,
    ...given: Arguments<Requests[Name]["params"]>
  ): Promise<Requests[Name]["reply"]>;
  /** Send a request that a newer daemon knows. */
  request(
    name: string,
    params?: Record<string, unknown>,
    options?: CallOptions,
  ): Promise<Record<string, unknown>>;
  /** What happens in the daemon from now on; the signal ends it. */
  subscribe(params?: SubscribeParams, options?: { signal?: Signal }): Subscription;
  /** Close the connection; requests under way end with `connection_lost`. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const Client: new (options?: ClientOptions) => Client;

/** An open subscription: an async iterator that ends when it is left, closed or aborted. */
export interface Subscription extends AsyncIterableIterator<Event, undefined> {
  /** How many events were dropped on this side, the oldest first, since they were taken too slowly. */
  readonly dropped: number;
  /** How it ended where the daemon ended it; null until then. */
  readonly reply: SubscribeReply | null;
  /** Settles when the request was sent, or could not be. */
  readonly opened: Promise<void>;
  close(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

/** What the daemon answered, or why it could not be asked. */
export class MemdError extends Error {
  constructor(
    code: ErrorCode | (string & {}),
    message?: string,
    more?: { hint?: string; data?: Record<string, unknown>; cause?: unknown },
  );
  /** One of docs/errors.md; that of a newer daemon is kept as it came. */
  readonly code: ErrorCode | (string & {});
  /** The way out. */
  readonly hint: string;
  readonly data: Record<string, unknown>;
  /** Whether to ask again in a moment may help. */
  readonly retryable: boolean;
  toWire(): { code: string; message: string; data: Record<string, unknown> };
  static fromWire(value: unknown): MemdError;
}

/** Where the daemon's socket is. */
export function socketPath(env?: Record<string, string | undefined>): string;
/** Vectors as the bytes they travel as: little-endian float32, one after the other. */
export function packVectors(vectors: Iterable<Float32Array | number[]>): Uint8Array;
/** The vectors of a reply to `embed`, one for each text. */
export function unpackVectors(reply: { vectors: Uint8Array; count: number; dims: number }): Float32Array[];
