// The client: trigger, look and wait; everything else is under its resource.

import { ApiError, ServerUnreachable, WaitTimeout } from "./errors.js";
import { type Answer, Http, type Given, type Operation, type Options, type TidingsOptions } from "./http.js";
import { newKey } from "./keys.js";
import { sleep } from "./patience.js";
import { ContactsResource, ExecutionsResource, Resources, RunsResource, WorkflowsResource } from "./resources.js";
import type { Execution, Imported, Run, StartedExecution, TraceLine, Workflow } from "./schema.js";
import { contentOf, sentByPage, type Upload, type UploadOptions } from "./upload.js";

/** How to wait for something to end. */
export interface WaitOptions<State> extends Options {
  /** The most to wait; a minute for an execution, an hour for a run. */
  timeoutMs?: number;
  /** How often to look where nothing tells of changes. */
  pollMs?: number;
  /** Called with each state, the first and the last included. */
  onProgress?: (state: State) => void | Promise<void>;
}

/** What starts an execution beside its workflow and its data. */
export interface TriggerOptions extends Options {
  /** The same key returns the same execution. Without one each call starts its own, and still only once. */
  idempotencyKey?: string;
  /** The contact it is for, by its id or its externalId. */
  contactId?: string;
}

const WAIT_MS = 60_000;
const POLL_MS = 2_000;
const RUN_WAIT_MS = 3_600_000;
const IMPORT_MS = 3_600_000;
/** A stream begins with a heartbeat at once: where none comes, something between holds it back. */
const FOR_A_WAIT = { firstMs: 5_000, attempts: 2 };
const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

/** Return whether nothing more happens to an execution or a run unless somebody asks for it. */
export function hasEnded(state: { status: string }): boolean {
  return ENDED.has(state.status);
}

/** `executions`, which can be followed. */
export class Executions extends ExecutionsResource {
  /** Yield an execution now and whenever it has changed, until it has ended; reconnect when needed. */
  async *follow(id: string, options: Options = {}): AsyncGenerator<Execution, void, undefined> {
    yield* this.seen(id, options);
  }

  /** Follow an execution, perhaps with less patience for a stream that breaks off or is held back. */
  async *seen(
    id: string,
    options: Options,
    patience: { firstMs?: number; attempts?: number } = {},
  ): AsyncGenerator<Execution, void, undefined> {
    for await (const event of this.http.events(FOLLOW, { ...options, path: { id } }, patience)) {
      const execution = JSON.parse(event.data) as Execution;
      yield execution;
      if (hasEnded(execution)) return;
    }
  }
}

const FOLLOW = "GET /v1/executions/{id}/events";

/** `runs`, which can be waited for and read as a stream. */
export class Runs extends RunsResource {
  /** Return the run once it has ended; throw WaitTimeout after `timeoutMs`. */
  async wait(id: string, options: WaitOptions<Run> = {}): Promise<Run> {
    const { timeoutMs = RUN_WAIT_MS, pollMs = POLL_MS, onProgress, ...rest } = options;
    return polled("run", id, timeoutMs, pollMs, () => this.get(id, rest), onProgress, rest.signal);
  }

  /** Yield everything about a run, one item after the other, however large it is. */
  async *trace(
    id: string,
    query: { status?: string; inDoubt?: boolean; jobId?: string } = {},
    options: Options = {},
  ): AsyncGenerator<TraceLine, void, undefined> {
    const headers = { ...Object.fromEntries(new Headers(options.headers)), accept: "application/x-ndjson" };
    const lines = this.http.lines("GET /v1/runs/{id}/trace", { ...options, headers, path: { id }, query });
    for await (const line of lines) if (line) yield JSON.parse(line) as TraceLine;
  }
}

/** `contacts`, which can be imported from a file. */
export class Contacts extends ContactsResource {
  /**
   * Store every valid line of a CSV or NDJSON file, and return what is wrong with the others.
   *
   * A file may be sent again as often as one likes: nobody is created twice. A stream is sent once.
   */
  async importFile(file: Upload, options: UploadOptions = {}): Promise<Imported> {
    const { columns = {}, format, dryRun = false, onProgress, ...rest } = options;
    const content = contentOf(file, format, onProgress);
    const given = {
      timeoutMs: IMPORT_MS,
      repeatable: content.repeatable,
      ...rest,
      headers: { ...Object.fromEntries(new Headers(rest.headers)), "content-type": content.type },
      query: {
        map: Object.entries(columns).map(([column, field]) => `${column}=${field}`),
        ...(dryRun && { dryRun }),
      },
      content: content.make,
    };
    const fetch = rest.fetch ?? (onProgress && sentByPage(onProgress));
    return this.http.send("POST /v1/contacts/import", { ...given, fetch }, (answer) => answer.json() as Promise<Imported>);
  }
}

/** `workflows`, which can be found by name and published from a file. */
export class Workflows extends WorkflowsResource {
  /** Return the workflow with this name, or null. */
  async find(name: string, options: Options = {}): Promise<Workflow | null> {
    const { data } = await this.list({ name, limit: 1 }, options).page();
    return data[0] ?? null;
  }

  /** Create a workflow, or give the one of this name this definition; the same again changes nothing. */
  async apply(name: string, definition: Record<string, unknown>, options: Options = {}): Promise<Workflow> {
    const found = await this.find(name, options);
    if (found) return this.update(found.id, { definition }, options);
    return this.create({ name, definition }, options);
  }
}

/** Tidings over HTTP, with one key or with a session; safe to use for many calls at once. */
export class Tidings extends Resources {
  override readonly executions: Executions;
  override readonly runs: Runs;
  override readonly contacts: Contacts;
  override readonly workflows: Workflows;

  constructor(options: TidingsOptions) {
    const http = new Http(options);
    super(http);
    this.executions = new Executions(http);
    this.runs = new Runs(http);
    this.contacts = new Contacts(http);
    this.workflows = new Workflows(http);
  }

  /** Call any operation by its method and address; path, query, body and answer have their types. */
  call<Op extends Operation>(
    operation: Op,
    ...given: object extends Given<Op> ? [given?: Given<Op>] : [given: Given<Op>]
  ): Promise<Answer<Op>> {
    return this.http.call(operation, ...given);
  }

  /** Start one execution of a workflow, by name or id; the same key returns the same one. */
  async trigger(
    workflow: string,
    data: Record<string, unknown> = {},
    options: TriggerOptions = {},
  ): Promise<StartedExecution> {
    const { idempotencyKey, contactId, ...rest } = options;
    const body = { workflow, data, idempotencyKey: idempotencyKey ?? newKey(), ...(contactId && { contactId }) };
    const started = await this.triggers.start(body, rest);
    // Our own new key was never used before: "duplicate" would only mean that our second try arrived as well.
    return { ...started, duplicate: idempotencyKey !== undefined && started.duplicate };
  }

  /** Return an execution as it is now. */
  status(executionId: string, options: Options = {}): Promise<Execution> {
    return this.executions.get(executionId, options);
  }

  /**
   * Return the execution once it is completed, failed or cancelled; throw WaitTimeout after `timeoutMs`.
   *
   * It is told of changes where the server can be followed, and looks by itself where it cannot: with a key that may
   * only read a status, or behind a proxy that holds streams back.
   */
  async wait(executionId: string, options: WaitOptions<Execution> = {}): Promise<Execution> {
    const { timeoutMs = WAIT_MS, pollMs = POLL_MS, onProgress, ...rest } = options;
    const end = Date.now() + timeoutMs;
    const told = await this.told(executionId, timeoutMs, onProgress, rest);
    if (told && hasEnded(told)) return told;
    const left = end - Date.now();
    if (told && left <= 0) throw new WaitTimeout("execution", executionId, timeoutMs, told.status);
    const look = () => this.status(executionId, rest);
    return polled("execution", executionId, timeoutMs, pollMs, look, onProgress, rest.signal, end);
  }

  /** Follow an execution; return its last state, or nothing where it cannot be followed. */
  private async told(
    id: string,
    timeoutMs: number,
    onProgress: WaitOptions<Execution>["onProgress"],
    options: Options,
  ): Promise<Execution | undefined> {
    const stop = new AbortController();
    const giveUp = () => stop.abort(options.signal?.reason);
    const timer = setTimeout(() => stop.abort(), timeoutMs);
    options.signal?.addEventListener("abort", giveUp, { once: true });
    let last: Execution | undefined;
    try {
      for await (const state of this.executions.seen(id, { ...options, signal: stop.signal }, FOR_A_WAIT)) {
        last = state;
        await onProgress?.(state);
      }
    } catch (error) {
      options.signal?.throwIfAborted();
      if (!stop.signal.aborted && !cannotFollow(error)) throw error;
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", giveUp);
    }
    return last;
  }
}

/** Return whether an error only means that there is no stream; whether there is an execution, a look will tell. */
function cannotFollow(error: unknown): boolean {
  return error instanceof ServerUnreachable || error instanceof ApiError;
}

async function polled<State extends { status: string }>(
  what: "execution" | "run",
  id: string,
  timeoutMs: number,
  pollMs: number,
  look: () => Promise<State>,
  onProgress: WaitOptions<State>["onProgress"],
  signal: AbortSignal | undefined,
  end: number = Date.now() + timeoutMs,
): Promise<State> {
  for (;;) {
    const state = await look();
    await onProgress?.(state);
    const left = end - Date.now();
    if (hasEnded(state)) return state;
    if (left <= 0) throw new WaitTimeout(what, id, timeoutMs, state.status);
    await sleep(Math.min(pollMs, left), signal);
  }
}
