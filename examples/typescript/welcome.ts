// Write to a new customer from Node, a browser or an edge runtime: define, trigger twice under one key, wait, look.
//
//     npm install ../../clients/typescript
//     TIDINGS_URL=http://127.0.0.1:8080 TIDINGS_KEY=tid_… node welcome.ts
//
// Node 22.18 and newer run it as it is; for Node 20 compile it first (`npx tsc`).

import { Invalid, Tidings } from "@tidings/client";

declare const process: { env: Record<string, string | undefined> };

const { TIDINGS_URL: url = "http://127.0.0.1:8080", TIDINGS_KEY: key } = process.env;
const client = new Tidings({ url, key });

await client.workflows.apply("hello_from_typescript", {
  entryNodeId: "hello",
  nodes: [{ id: "hello", type: "email", to: "{{ email }}", subject: "Welcome, {{ name }}", body: "Good to have you." }],
  edges: [],
});

try {
  await client.trigger("hello_from_typescript", { email: "ada@example.com" });
} catch (error) {
  if (!(error instanceof Invalid)) throw error;
  for (const { place, message } of error.errors) console.log(`refused: ${place} ${message}`);
}

const ada = { email: "ada@example.com", name: "Ada" };
const first = await client.trigger("hello_from_typescript", ada, { idempotencyKey: "signup-ada" });
const again = await client.trigger("hello_from_typescript", ada, { idempotencyKey: "signup-ada" });
console.log(`the same execution: ${first.id === again.id && again.duplicate}`);

const ended = await client.wait(first.id, { onProgress: ({ currentStep, status }) => console.log(currentStep, status) });
console.log(`ended: ${ended.status}`);
for await (const item of client.outbox.list({ executionId: first.id })) console.log(item.channel, item.status);
