// BullMQ behind fastify: what a team builds that puts triggers into Redis over HTTP. The key is the job's id, so that the
// same key again adds nothing, and the body is checked by a schema, as fastify recommends.

import { Queue } from 'bullmq';
import fastify from 'fastify';

const KEY = `Bearer ${process.env.BENCH_KEY}`;
const TRIGGER = {
  type: 'object',
  required: ['workflow', 'idempotencyKey', 'data'],
  additionalProperties: false,
  properties: { workflow: { type: 'string' }, idempotencyKey: { type: 'string' }, data: { type: 'object' } },
};
const TRIGGERS = {
  type: 'object',
  required: ['triggers'],
  properties: { triggers: { type: 'array', maxItems: 10_000, items: TRIGGER } },
};

const queue = new Queue('triggers', { connection: { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) } });
const app = fastify({ bodyLimit: 10_000_000 });

app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== KEY) return reply.code(401).send();
});

function job({ workflow, idempotencyKey, data }) {
  return { name: workflow, data, opts: { jobId: idempotencyKey } };
}

app.post('/v1/triggers', { schema: { body: TRIGGER } }, async (request, reply) => {
  const { name, data, opts } = job(request.body);
  const added = await queue.add(name, data, opts);
  return reply.code(201).send({ id: added.id, workflowName: name, inputPayload: data, createdAt: added.timestamp });
});

app.post('/v1/triggers/bulk', { schema: { body: TRIGGERS } }, async (request) => {
  const added = await queue.addBulk(request.body.triggers.map(job));
  return { items: added.map(({ id }) => ({ id })) };
});

await queue.waitUntilReady();
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
