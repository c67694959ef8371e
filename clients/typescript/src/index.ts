// Tidings over HTTP, for browsers, edge runtimes and Node.

export { Contacts, Executions, hasEnded, Runs, Tidings, Workflows } from "./client.js";
export type { TriggerOptions, WaitOptions } from "./client.js";
export * from "./errors.js";
export type { Answer, Body, Given, Operation, Options, Path, Query, TidingsOptions } from "./http.js";
export { Pages } from "./pages.js";
export type { Page } from "./pages.js";
export type { Retrying } from "./patience.js";
export * from "./resources.js";
export type * from "./schema.js";
export type { ServerEvent } from "./sse.js";
export type { OnUpload, Upload, UploadOptions } from "./upload.js";
export { workflowFunctions } from "./workflow-functions.js";
export type { WorkflowFunctions, WorkflowResult, WorkflowStatusResult } from "./workflow-functions.js";
