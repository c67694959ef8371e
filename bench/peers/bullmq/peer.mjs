// BullMQ on Redis with its log in PostgreSQL, in the shape of a sequence step: a job for each message, its log row
// committed before the send and marked after it. The verbs are those of ../workers/message_log.py.

import { Queue, Worker } from 'bullmq';
import pg from 'pg';

const QUEUE = 'messages';
const CONCURRENCY = 50;
const CONNECTIONS = 20;
const ADD_BATCH = 1000;
const COMPLETION_MS = 10_000;
const ITEMS = Number(process.env.ITEMS);
const connection = { host: '127.0.0.1', port: Number(process.env.REDIS_PORT) };

// Named, so that node-postgres prepares each once for a connection.
const RESERVE = {
  name: 'reserve',
  text: `insert into message_log (idempotency_key, recipient, subject, body, status)
         values ($1, $2, $3, $4, 'queued') on conflict do nothing`,
};
const FINISH = {
  name: 'finish',
  text: `update message_log set status = 'sent', message_id = $2, finished_at = clock_timestamp()
          where idempotency_key = $1`,
};

function compose({ key, email, name }) {
  return { key, recipient: email, subject: `Hello ${name}`, body: `Good to see you, ${name}.` };
}

async function nullSend(message) {
  return `<${message.key}@null>`;
}

function payload(number) {
  return { key: `k${number}`, email: `p${number}@example.com`, name: `P${number}` };
}

async function enqueue() {
  const queue = new Queue(QUEUE, { connection });
  await queue.waitUntilReady();
  const started = performance.now();
  for (let first = 0; first < ITEMS; first += ADD_BATCH) {
    const size = Math.min(ADD_BATCH, ITEMS - first);
    await queue.addBulk(Array.from({ length: size }, (_, index) => ({ name: 'send', data: payload(first + index) })));
  }
  console.log((performance.now() - started) / 1000);
  await queue.close();
}

async function work() {
  const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: CONNECTIONS });

  async function send(job) {
    const message = compose(job.data);
    await pool.query({ ...RESERVE, values: [message.key, message.recipient, message.subject, message.body] });
    const messageId = await nullSend(message);
    await pool.query({ ...FINISH, values: [message.key, messageId] });
  }

  const worker = new Worker(QUEUE, send, {
    connection,
    concurrency: CONCURRENCY,
    removeOnComplete: { count: 1000 },
    removeOnFail: { count: 5000 },
  });
  worker.on('error', (error) => console.error(error));
  worker.on('failed', (job, error) => console.error(job?.id, error));
}

async function remaining() {
  const queue = new Queue(QUEUE, { connection });
  const deadline = performance.now() + COMPLETION_MS;
  let count = await unfinished(queue);
  while (count > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    count = await unfinished(queue);
  }
  console.log(count);
  await queue.close();
}

async function unfinished(queue) {
  const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'failed');
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

await { enqueue, work, remaining }[process.argv[2]]();
