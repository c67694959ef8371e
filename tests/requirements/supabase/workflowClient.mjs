// The client of 004, 4.1, as printed but for its types: what the browser of such a front end runs.

import { createClient } from "@supabase/supabase-js";

export const supabase = createClient(process.env.SUPABASE_URL, process.env.SUPABASE_ANON_KEY, {
    auth: { persistSession: false }
});

export async function triggerWorkflow(workflow, data, correlationId) {
    const { data: session } = await supabase.auth.getSession();

    const response = await supabase.functions.invoke('workflow-enqueue', {
        body: {
            action: 'enqueue',
            payload: {
                workflow,
                data,
                correlation_id: correlationId
            }
        }
    });

    if (response.error) {
        throw new Error(response.error.message || 'Failed to trigger workflow');
    }

    return response.data.data;
}

export async function getWorkflowStatus(executionId) {
    const response = await supabase.functions.invoke('workflow-enqueue', {
        body: {
            action: 'status',
            payload: { execution_id: executionId }
        }
    });

    if (response.error) {
        throw new Error(response.error.message || 'Failed to get workflow status');
    }

    return response.data.data;
}

export async function waitForWorkflow(executionId, options = {}) {
    const { pollInterval = 2000, timeout = 60000, onProgress } = options;
    const startTime = Date.now();

    while (Date.now() - startTime < timeout) {
        const status = await getWorkflowStatus(executionId);

        if (onProgress) {
            onProgress(status);
        }

        if (status.status === 'completed' || status.status === 'failed' || status.status === 'cancelled') {
            return status;
        }

        await new Promise(resolve => setTimeout(resolve, pollInterval));
    }

    throw new Error(`Workflow ${executionId} timed out after ${timeout}ms`);
}
