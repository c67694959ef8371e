// A file as the body of a request, with its progress where the platform can tell.

import type { Options } from "./http.js";

/** What can be sent: a File from a form, text, bytes, or a stream. */
export type Upload = Blob | string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>;
/** Told how many bytes are sent; `total` is null where nobody knows it. */
export type OnUpload = (sent: number, total: number | null) => void;

/** How a file of contacts is read. */
export interface UploadOptions extends Options {
  /** Which column is which field. */
  columns?: Record<string, string>;
  /** What the file is; without, its name and type tell, and else it is CSV. */
  format?: "csv" | "ndjson";
  /** Only say what would be stored. */
  dryRun?: boolean;
  onProgress?: OnUpload;
}

interface Content {
  type: string;
  repeatable: boolean;
  make: () => BodyInit;
}

/** Return a file as the body of a request. */
export function contentOf(file: Upload, format?: "csv" | "ndjson", onProgress?: OnUpload): Content {
  const type = (format ?? formatOf(file)) === "ndjson" ? "application/x-ndjson" : "text/csv";
  const isStream = file instanceof ReadableStream;
  const counts = onProgress !== undefined && !hasXhr() && !isStream;
  const make = () => (counts ? counted(new Blob([file]), onProgress) : file);
  return { type, repeatable: !isStream, make };
}

function formatOf(file: Upload): "csv" | "ndjson" {
  const { name = "", type = "" } = file as { name?: string; type?: string };
  return /ndjson|jsonl/.test(type) || /\.(ndjson|jsonl)$/i.test(name) ? "ndjson" : "csv";
}

/** Count the bytes as they are taken from a stream; browsers send no streams without HTTP/2, and use XMLHttpRequest. */
function counted(file: Blob, onProgress: OnUpload): ReadableStream<Uint8Array> {
  let sent = 0;
  const counting = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      sent += piece.length;
      onProgress(sent, file.size);
      controller.enqueue(piece);
    },
  });
  return file.stream().pipeThrough(counting);
}

function hasXhr(): boolean {
  return typeof XMLHttpRequest !== "undefined";
}

/** Return a `fetch` that tells how much of a body is sent, where pages have XMLHttpRequest. */
export function sentByPage(onProgress: OnUpload): typeof fetch | undefined {
  if (!hasXhr()) return undefined;
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const xhr = new XMLHttpRequest();
      const giveUp = () => reject(init.signal?.reason);
      xhr.open(init.method ?? "GET", String(input));
      xhr.withCredentials = init.credentials === "include";
      new Headers(init.headers).forEach((value, name) => xhr.setRequestHeader(name, value));
      xhr.upload.onprogress = (event) => onProgress(event.loaded, event.lengthComputable ? event.total : null);
      xhr.onload = () => resolve(answerOf(xhr));
      xhr.onerror = () => reject(new TypeError("the connection failed"));
      xhr.onabort = giveUp;
      if (init.signal?.aborted) return giveUp();
      init.signal?.addEventListener("abort", () => xhr.abort(), { once: true });
      xhr.send(init.body as XMLHttpRequestBodyInit);
    });
}

function answerOf(xhr: XMLHttpRequest): Response {
  return new Response(xhr.responseText || null, { status: xhr.status, headers: headersOf(xhr) });
}

function headersOf(xhr: XMLHttpRequest): Headers {
  const lines = xhr.getAllResponseHeaders().trim().split("\r\n");
  const pairs = lines.map((line) => line.split(/: (.*)/s)).filter(([name]) => name);
  return new Headers(pairs.map(([name = "", value = ""]): [string, string] => [name, value]));
}
