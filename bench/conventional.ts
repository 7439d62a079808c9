// The stack that one would write by hand for 4.3: Fastify with the usual plugins, a key looked up by its digest, usage
// and fundings in SQLite. Prints its port. Arguments: a file with the response and a file with the keys.
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import cors from '@fastify/cors'
import helmet from '@fastify/helmet'
import rateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import { Histogram, Registry } from 'prom-client'

const [, , responseFile = '', keysFile = ''] = process.argv
const { result } = JSON.parse(readFileSync(responseFile, 'utf8')) as { result: Record<string, unknown> }
const keys = JSON.parse(readFileSync(keysFile, 'utf8')) as string[]
const digestOf = (key: string) => createHash('sha256').update(key).digest('hex')

const database = new DatabaseSync(join(mkdtempSync(join(tmpdir(), 'tetrad-conventional-')), 'state.sqlite'))
database.exec(`pragma journal_mode = wal; pragma synchronous = normal;
  create table keys (digest text primary key, id text not null) strict;
  create table usage (key text, day integer, calls integer not null, primary key (key, day)) strict;
  create table fundings (address text primary key, funding text not null) strict`)
const addKey = database.prepare('insert into keys values (?, ?)')
database.exec('begin')
for (const [at, key] of keys.entries()) addKey.run(digestOf(key), String(at))
database.exec('commit')
const findKey = database.prepare('select id from keys where digest = ?')
const countCall = database.prepare(
  'insert into usage values (?, ?, 1) on conflict (key, day) do update set calls = calls + 1',
)
const findFunding = database.prepare('select funding from fundings where address = ?')

const registry = new Registry()
const seconds = new Histogram({
  name: 'request_seconds',
  help: 'x',
  labelNames: ['route', 'status'],
  registers: [registry],
})

const fastify = Fastify()
await fastify.register(helmet)
await fastify.register(cors)
await fastify.register(rateLimit, {
  max: 1000,
  timeWindow: 1000,
  cache: 50_000,
  keyGenerator: (request) => (request.query as { apikey: string }).apikey,
})
fastify.get('/v2/api', {
  schema: {
    querystring: {
      type: 'object',
      required: ['apikey', 'address', 'chainid'],
      properties: { apikey: { type: 'string' }, address: { type: 'string' }, chainid: { type: 'string' } },
    },
  },
  handler: async (request, reply) => {
    const stop = seconds.startTimer()
    const { apikey, address } = request.query as { apikey: string; address: string }
    const key = findKey.get(digestOf(apikey)) as { id: string } | undefined
    if (!key) return reply.code(401).send({ status: '0', message: 'NOTOK', result: 'Invalid API Key' })
    countCall.run(key.id, Math.floor(Date.now() / 86_400_000))
    let row = findFunding.get(address) as { funding: string } | undefined
    if (!row) {
      database.prepare('insert into fundings values (?, ?)').run(address, JSON.stringify(result))
      row = findFunding.get(address) as { funding: string }
    }
    stop({ route: '/v2/api', status: '200' })
    return { status: '1', message: 'OK', result: JSON.parse(row.funding) }
  },
})
await fastify.listen({ host: '127.0.0.1', port: 0 })
console.log(JSON.stringify({ port: (fastify.server.address() as AddressInfo).port }))
