// Goal: watching a hundred validators takes few resources. Writes a year of a hundred validators of a network of a
// million, hour by hour with missed duties, and measures disk space, memory and response times; then the time from the
// start of a new server to its first rating. BENCH_DAYS changes the number of days.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ChainTime, Epoch } from '#core/chain-time.ts'
import { complete } from '#core/schema-check.ts'
import { systemClock } from '#runtime/clock.ts'
import { systemRandom } from '#runtime/random.ts'
import { chainTimeFrom, pinsOf } from '#runtime/settings/chain-pins.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { openNode } from '#simulator/beacon/node.ts'
import { createKey } from '#storage/keys.ts'
import { openStores } from '#storage/open.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { segmentAt } from '#validators/duties/layout.ts'
import { type MissedField, missedFields } from '#validators/duties/missed.ts'
import { dutiesOnThisThread } from '#validators/duties/store.ts'
import { putValidators } from '#validators/registry/registry.ts'
import { entryOf, median, sumsOf, timed } from './ratings-rows.ts'

const count = 100
const days = Number(process.env.BENCH_DAYS ?? 365)
/** Distant indices, as if the operator had deposited over a long time. */
const indexOf = (at: number) => at * 9973
const { value: settings } = complete(SettingsSchema, {})
const time: ChainTime = chainTimeFrom('mainnet', pinsOf(settings.validators.networks.mainnet))

async function fill(dir: string): Promise<string> {
  const stores = await openStores(dir)
  const duties = dutiesOnThisThread(stores.duties)
  const validator = Int32Array.from({ length: count }, (_, at) => indexOf(at))
  for (let from = 0 as Epoch; from < days * time.epochsPerDay; ) {
    const { hourPart, epochs } = segmentAt(time, from)
    const { sums } = sumsOf(count, hourPart, epochs.until - epochs.from)
    // Five per validator and day.
    const missed = Array.from({ length: count / 5 }, (_, at) => ({
      validatorAt: (at * 5 + hourPart) % count,
      epoch: from,
    }))
    const column = (field: MissedField) =>
      Int32Array.from(missed, ({ validatorAt, epoch }) => {
        const values: Partial<Record<MissedField, number>> = {
          validator: indexOf(validatorAt),
          epoch,
          slot: epoch * 32 + 7,
          delay: 2,
          best_delay: 1,
        }
        return values[field] ?? 0
      })
    const segment = {
      ...{ epochs, validator, sums, audits: [], unexplained: [] },
      missed: Object.fromEntries(missedFields.map((field) => [field, column(field)])) as Record<
        MissedField,
        Int32Array
      >,
      watched: { validators: validator, countBefore: 1_000_000, count: 1_000_000 },
    }
    const head = { hoursKeptDays: 90, missedKeptDays: 400 }
    await duties.update('commitEpochs', { network: 'mainnet', time, segments: [segment], head })
    await duties.update(
      'mergeSpans',
      { network: 'mainnet', time, until: epochs.until },
      { signal: new AbortController().signal },
    )
    from = epochs.until
  }
  await putValidators(stores.ingest, 'mainnet', Array.from(validator, entryOf))
  const { key } = await createKey(stores.state, { name: 'bench', plan: 'enterprise' }, systemClock, systemRandom)
  await stores.close()
  return key
}

/** Starts a server in its own process, without the demo. */
async function serve(dir: string, env: Record<string, string>) {
  const args = ['cli/tetrad.js', 'serve', '--json', '--port', '0', '--data', dir]
  const child = spawn(process.execPath, args, {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, ...env, TETRAD_GROUPS_MARKETS_ENABLED: 'true' },
  })
  let output = ''
  const url = await new Promise<string>((resolve, reject) => {
    const onOutput = (bytes: Buffer) => {
      output += bytes
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(output)
      if (found) resolve(found[0])
    }
    child.stdout.on('data', onOutput)
    child.stderr.on('data', onOutput)
    child.once('exit', () => reject(new Error(output)))
  })
  const residentMiB = () =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
  const stop = async () => {
    child.removeAllListeners('exit')
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await ended
  }
  return { url, residentMiB, stop }
}

const dir = mkdtempSync(join(tmpdir(), 'tetrad-operator-'))
try {
  const year = join(dir, 'year')
  const seconds = (await timed(async () => void (await fill(year)))) / 1000
  const size = ['duties.sqlite', 'duties.sqlite-wal']
    .map((name) => join(year, name))
    .filter(existsSync)
    .reduce((sum, file) => sum + statSync(file).size, 0)
  console.log(
    `${count} validators × ${days} days: ${(size / 2 ** 20).toFixed(1)} MiB on disk; hours of 90 days and missed duties included. Written in ${seconds.toFixed(0)} s`,
  )
  const stores = await openStores(year)
  const { key } = await createKey(stores.state, { name: 'again', plan: 'enterprise' }, systemClock, systemRandom)
  await stores.close()
  const server = await serve(year, {})
  const request = (path: string) =>
    fetch(`${server.url}${path}`, { headers: { authorization: `Bearer ${key}` } }).then((reply) => reply.text())
  await new Promise((resolve) => setTimeout(resolve, 2000))
  console.log(`memory before the first request: ${server.residentMiB().toFixed(0)} MiB`)
  const all = Array.from({ length: count }, (_, at) => indexOf(at)).join()
  for (const [name, path] of [
    ['one validator, a year by day', `/v1/eth/validators/${indexOf(7)}/effectiveness?limit=365`],
    [
      'one validator, a week by hour',
      `/v1/eth/validators/${indexOf(7)}/effectiveness?granularity=hour&limit=200&fromDay=${days - 8}`,
    ],
    ['all hundred, a year by day', `/v0/eth/validators/effectiveness?indices=${all}&groupBy=timeWindow&size=365`],
    ['all hundred, one record each', `/v0/eth/validators/effectiveness?indices=${all}&granularity=all&size=100`],
  ] as const) {
    await request(path)
    const tookMs: number[] = []
    for (let round = 0; round < 15; round++) tookMs.push(await timed(() => request(path)))
    console.log(`  ${name}: ${median(tookMs).toFixed(1)} ms`)
  }
  console.log(`memory after these requests: ${server.residentMiB().toFixed(0)} MiB`)
  await server.stop()
  await firstRating(join(dir, 'new'))
} finally {
  rmSync(dir, { recursive: true, force: true })
}

/**
 * From `tetrad serve` on an empty folder to the first rating. The node has a day of finalized epochs of a small
 * network.
 */
async function firstRating(data: string): Promise<void> {
  await using node = await openNode(simulateNetwork('operator'), { ssz: true, states: true })
  const stores = await openStores(data)
  const { key } = await createKey(stores.state, { name: 'bench', plan: 'enterprise' }, systemClock, systemRandom)
  await stores.close()
  const startMs = performance.now()
  const network = 'TETRAD_VALIDATORS_NETWORKS_HOODI_'
  const server = await serve(data, {
    [`${network}BEACON_URLS`]: JSON.stringify([node.url]),
    [`${network}BEACON_ACCEPT_ANY_CHAIN`]: 'true',
    [`${network}BEACON_FROM_EPOCH`]: '0',
    [`${network}WATCH`]: '["0","1","2"]',
  })
  for (;;) {
    const reply = await fetch(`${server.url}/v1/eth/validators/1/effectiveness`, {
      headers: { authorization: `Bearer ${key}`, 'x-validator-network': 'hoodi' },
    })
    const { results } = (reply.status === 200 ? await reply.json() : {}) as { results?: unknown[] }
    if (results && results.length > 0) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  console.log(
    `from the start of a new server to its first rating: ${((performance.now() - startMs) / 1000).toFixed(1)} s`,
  )
  await server.stop()
}
