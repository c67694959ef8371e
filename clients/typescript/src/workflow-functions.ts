// The three functions that existing front ends call, with the same arguments and the same answers.

import { hasEnded } from "./client.js";
import { ApiError } from "./errors.js";
import { Http, type TidingsOptions } from "./http.js";
import { newKey } from "./keys.js";
import { sleep } from "./patience.js";

/** What starting a workflow answers. */
export interface WorkflowResult {
  execution_id: string;
  workflow_name: string;
  status: "queued" | "pending" | "running" | "completed" | "failed";
  total_steps?: number;
  message?: string;
}

/** How an execution goes. */
export interface WorkflowStatusResult {
  id: string;
  workflow_name: string;
  status: string;
  current_step: number;
  total_steps: number;
  context: Record<string, unknown>;
  error_message?: string;
  error_step?: string;
  created_at: string;
  started_at?: string;
  completed_at?: string;
}

/** How `waitForWorkflow` waits, in milliseconds. */
export interface PollOptions {
  pollInterval?: number;
  timeout?: number;
  onProgress?: (status: WorkflowStatusResult) => void;
}

/** The functions of a front end's `workflowClient`. */
export interface WorkflowFunctions {
  /** Start a named workflow; the same correlation id starts nothing again. */
  triggerWorkflow(workflow: string, data: Record<string, unknown>, correlationId?: string): Promise<WorkflowResult>;
  /** Return how an execution goes. */
  getWorkflowStatus(executionId: string): Promise<WorkflowStatusResult>;
  /** Look again and again until an execution has ended, or throw after `timeout`. */
  waitForWorkflow(executionId: string, options?: PollOptions): Promise<WorkflowStatusResult>;
}

const ENQUEUE = "POST /functions/v1/workflow-enqueue";

/**
 * Return the functions for one server:
 * `export const { triggerWorkflow, getWorkflowStatus, waitForWorkflow } = workflowFunctions({ url, key })`.
 */
export function workflowFunctions(options: TidingsOptions): WorkflowFunctions {
  const http = new Http(options);

  async function act<Result>(action: "enqueue" | "status", payload: Record<string, unknown>): Promise<Result> {
    const { success, data, error } = await http.call(ENQUEUE, { body: { action, payload }, repeatable: true });
    if (!success || data === undefined) throw new ApiError(200, "error", error ?? "no reason given");
    return data as Result;
  }

  // A random id is made before the first try, so that a second one cannot start another execution.
  const triggerWorkflow: WorkflowFunctions["triggerWorkflow"] = (workflow, data, correlationId) =>
    act("enqueue", { workflow, data, correlation_id: correlationId ?? newKey() });
  const getWorkflowStatus: WorkflowFunctions["getWorkflowStatus"] = (executionId) =>
    act("status", { execution_id: executionId });

  async function waitForWorkflow(executionId: string, options: PollOptions = {}): Promise<WorkflowStatusResult> {
    const { pollInterval = 2000, timeout = 60000, onProgress } = options;
    const end = Date.now() + timeout;
    while (Date.now() < end) {
      const status = await getWorkflowStatus(executionId);
      onProgress?.(status);
      if (hasEnded(status)) return status;
      await sleep(pollInterval);
    }
    throw new Error(`Workflow ${executionId} timed out after ${timeout}ms`);
  }

  return { triggerWorkflow, getWorkflowStatus, waitForWorkflow };
}
