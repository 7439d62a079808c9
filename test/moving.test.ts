// Moves a running server to another machine: backup over the control socket, restore, start. Every response must be the
// same.

import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import { createClient } from '#api/client/client.ts'
import { groups } from '#api/contract/routes.ts'
import { systemClock } from '#runtime/clock.ts'
import { silentLog } from '#runtime/log.ts'
import { type RunningServer, startServer } from '#server/app.ts'
import { type DemoSamples, startDemo } from '#simulator/demo.ts'
import type { Manifest } from '#storage/backup.ts'
import { createKey } from '#storage/keys.ts'
import { settingsWith } from './context.ts'
import { openDemoNodes } from './demo-nodes.ts'
import { createDemoQuote } from './endpoint-calls.ts'
import { inject } from './inject.ts'
import { runCommand } from './run-command.ts'
import { copyDemo } from './template.ts'

/** A new epoch changes the newest day at any time, so both servers are asked about earlier days. */
const lastDay = 30

/**
 * `asOf`: the markets of the demo change all the time, so both servers are asked about the same time. It must be before
 * the start of the first server: a version that a feed has at a time is stored a moment later.
 */
async function responsesOf(
  url: string,
  key: string,
  samples: DemoSamples,
  quoteId: string,
  asOf: string,
): Promise<unknown> {
  const client = createClient({ baseUrl: url, key })
  const { address, indices, slug } = samples
  const [index = 0] = indices
  const hours = { validator_index_or_pubkey: index, granularity: 'hour' } as const
  const days = { indices: [...indices], to: String(lastDay) }
  return {
    labels: await client.explorer.labelListV2({}),
    first: await client.explorer.labelListV1(),
    funding: await client.explorer.fundedBy({ address }),
    aggregate: await client.validators.aggregateEffectiveness({ ...days, size: 200 }),
    weeks: await client.validators.aggregateEffectiveness({ ...days, granularity: 'week', size: 200 }),
    hours: (await client.validators.effectiveness({ ...hours, limit: 500, toDay: lastDay })).results,
    metadata: await client.validators.metadata({ validator_index_or_pubkey: index }),
    market: await client.markets.bySlug({ slug, asOf }),
    quote: await client.fx.quote({ id: quoteId }),
    receiptKey: await client.fx.receiptKey(),
    trades: await client.fx.trades(),
  }
}

const untilReady = async (server: RunningServer) => {
  for (let tries = 0; tries < 400; tries++) {
    if ((await inject(server, { url: '/readyz' })).statusCode === 200) return
    await systemClock.sleep(25)
  }
  assert.fail('not ready')
}

test('a restored backup of a running server returns the same responses', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'tetrad-moving-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  await copyDemo(join(dir, 'here'))
  const demo = await startDemo(openDemoNodes())
  stack.defer(() => demo.close())
  const settings = settingsWith({ ...demo.settings, server: { port: 0 } })
  const asOf = new Date(systemClock.now()).toISOString()
  let samples: DemoSamples | undefined
  const server = await startServer({
    ...{ settings, dataDir: join(dir, 'here'), log: silentLog },
    beforeStart: async (context) => {
      samples = await demo.load(context)
    },
  })
  stack.defer(() => server.close())
  await untilReady(server)
  const { context } = server
  const keyInput = { name: 'test', plan: 'enterprise', groups: [...groups] } as const
  const { key } = await createKey(context.state, keyInput, context.clock, context.random)
  const client = createClient({ baseUrl: server.url, key })
  const input = {
    ...{ from: { currency: 'USDC', amount: '100' }, to: { currency: 'EURC' } },
    ...{ tenor: 'instant' as const, type: 'reference' as const },
  }
  const { id } = await client.fx.createQuote(input)
  const signer = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const quote = await createDemoQuote(client)
  const acceptance = {
    ...{ quoteId: quote.id, address: signer.address },
    signature: await client.fx.signQuote(quote, signer),
  }
  const trade = await client.fx.createTrade(acceptance)

  assert(samples)
  const before = await responsesOf(server.url, key, samples, id, asOf)
  const { result: link } = await client.explorer.labelListV2({ format: 'json' })

  // Calls continue during the backup.
  let isDone = false
  const calling = (async () => {
    while (!isDone) await client.fx.createQuote(input)
  })()
  const backup = await runCommand(['backup', 'copy', '--data', 'here', '--json'], { cwd: dir })
  isDone = true
  await calling
  assert.equal(backup.code, 0, backup.stderr)
  const { rows } = JSON.parse(backup.stdout) as Manifest
  assert.ok((rows.state.fx_quotes ?? 0) >= 1 && (rows.duties.duty_hours ?? 0) > 100)
  assert.equal(rows.state.fx_trades, 1)

  const restored = await runCommand(['restore', 'copy', '--data', 'there', '--json'], { cwd: dir })
  assert.equal(restored.code, 0, restored.stderr)
  assert.deepEqual((JSON.parse(restored.stdout) as Manifest).rows, rows)

  const restoredServer = await startServer({ settings, dataDir: join(dir, 'there'), log: silentLog })
  stack.defer(() => restoredServer.close())
  await untilReady(restoredServer)
  const after = (await responsesOf(restoredServer.url, key, samples, id, asOf)) as Record<string, unknown>
  for (const [name, response] of Object.entries(before as object)) assert.deepEqual(after[name], response, name)

  // With the signature: the same request gets the same trade, another one a conflict.
  const restoredClient = createClient({ baseUrl: restoredServer.url, key })
  assert.deepEqual(await restoredClient.fx.createTrade(acceptance), trade)
  await assert.rejects(restoredClient.fx.createTrade({ ...acceptance, signature: `${acceptance.signature}00` }))

  // The restored server accepts the link: the backup contains the signing secret.
  const restoredLink = new URL(String(link))
  const download = await inject(restoredServer, { url: `${restoredLink.pathname}${restoredLink.search}` })
  assert.equal(download.statusCode, 200)
  const manifest = JSON.parse(await readFile(join(dir, 'copy', 'manifest.json'), 'utf8')) as Manifest
  assert.deepEqual(manifest.rows, rows)
})
