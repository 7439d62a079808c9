// An acknowledged quote survives kill −9. This file is also the process that is killed: with the arguments `child` and a
// folder, it creates quotes as fast as possible and prints the id of each acknowledged one.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { silentLog } from '#runtime/log.ts'
import { systemRandom } from '#runtime/random.ts'
import { openState } from '#storage/open.ts'
import { settingsWith, testNowMs, testRequestInfo } from '#test/context.ts'
import { ManualClock } from '#test/manual-clock.ts'
import { provenTimeOf } from '#test/proven-time.ts'
import { createFxCaches } from '../context.ts'
import { storeRates } from '../rates/rate-store.ts'
import { createQuote } from './create-quote.ts'

const file = fileURLToPath(import.meta.url)
const [, , role, dir = ''] = process.argv
const acknowledgedBeforeKill = 40

if (role === 'child') await quoteUntilKilled(dir)
else test('every acknowledged quote is stored after kill −9, and the store opens', survives)

async function quoteUntilKilled(folder: string): Promise<void> {
  const source = { id: 'a', kind: 'http-json', url: 'https://rates.example/' }
  const clock = new ManualClock(testNowMs)
  const context = {
    state: await openState(folder),
    settings: settingsWith({ fx: { spender: '0x3333333333333333333333333333333333333333', sources: [source] } }),
    clock,
    provenTime: provenTimeOf(clock),
    random: systemRandom,
    log: silentLog,
    fx: createFxCaches(),
  }
  const rate = { source: 'a', base: 'EUR', quote: 'USD', rate: '1.25', atMs: testNowMs }
  await storeRates(context.state, 'a', [rate], testNowMs)
  const createOne = async (index: number): Promise<void> => {
    const outcome = await createQuote.handle(
      {
        from: { currency: 'USDC', amount: '1000' },
        to: { currency: 'EURC' },
        tenor: 'instant',
        type: 'tradable',
        recipientAddress: '0x1111111111111111111111111111111111111111',
        idempotencyKey: `order-${index}`,
      },
      context,
      testRequestInfo(),
    )
    assert.ok(outcome.is === 'bytes')
    process.stdout.write(`${JSON.parse(new TextDecoder().decode(outcome.bytes)).id}\n`)
  }
  // Several at a time, so that transactions are open when the process is killed.
  for (let index = 0; ; index += 4) await Promise.all([0, 1, 2, 3].map((offset) => createOne(index + offset)))
}

async function survives(): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tetrad-test-'))
  try {
    const child = spawn(process.execPath, [file, 'child', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const exited = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
    const acknowledged: string[] = []
    for await (const line of createInterface(child.stdout)) {
      acknowledged.push(line)
      if (acknowledged.length === acknowledgedBeforeKill) child.kill('SIGKILL')
    }
    assert.equal(await exited, 'SIGKILL')
    assert.ok(acknowledged.length >= acknowledgedBeforeKill)
    const state = await openState(folder)
    try {
      const stored = await state.all<{ id: string }>('select id from fx_quotes')
      const ids = new Set(stored.map(({ id }) => id))
      assert.deepEqual(
        acknowledged.filter((id) => !ids.has(id)),
        [],
      )
      // Transactions are atomic: every quote has its idempotency key and every key its quote.
      const [keys] = await state.all<{ count: number }>(
        'select count(*) as count from fx_idempotency i join fx_quotes q on q.id = i.quote_id',
      )
      assert.equal(keys?.count, stored.length)
      const [check] = await state.all<{ integrity_check: string }>('pragma integrity_check')
      assert.equal(check?.integrity_check, 'ok')
    } finally {
      await state.close()
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
