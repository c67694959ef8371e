// Run by tests/requirements/test_004_example.py: one request for each line of standard input, one answer for each.

import { createInterface } from "node:readline";
import { getWorkflowStatus, triggerWorkflow, waitForWorkflow } from "./workflowClient.mjs";

async function waited(executionId, options) {
    const progress = [];
    const onProgress = (status) => progress.push(`Step ${status.current_step + 1}/${status.total_steps}`);
    return { progress, status: await waitForWorkflow(executionId, { ...options, onProgress }) };
}

const CALLS = { trigger: triggerWorkflow, status: getWorkflowStatus, wait: waited };

for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...given] = JSON.parse(line);
    try {
        console.log(JSON.stringify({ answer: await CALLS[name](...given) }));
    } catch (error) {
        console.log(JSON.stringify({ error: error.message }));
    }
}
process.exit(0);
