// What `tetrad ingest beacon` does: beside a running server it has that look at its node and shows how it gets on; without
// one it reads into the stores itself (decision 0078).
import { existsSync } from 'node:fs'
import type { Settings } from '#core/settings.ts'
import type { Progress } from '#groups/validators/ingest/follow.ts'
import type { Standing } from '#groups/validators/ingest/runs.ts'
import type { Stores } from '#store/open.ts'
import type { BeaconCommand } from './beacon.ts'
import { CommandFailure } from './failure.ts'
import { askServer } from './owner.ts'
import { note, print, printJson } from './print.ts'
import { dataDirOf } from './settings.ts'

const askEveryMs = 500
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000

/** False: no server runs on this folder. */
export async function watchServer(options: BeaconCommand): Promise<boolean> {
  const { network } = options
  const dataDir = dataDirOf(options)
  if (!existsSync(dataDir)) return false
  const asked = await askServer<Standing>(options, 'beacon', { network, look: true })
  if (!asked) return false
  const [{ askControl }, { systemClock }, { untilStopped }] = await Promise.all([
    import('#io/control.ts'),
    import('#io/clock.ts'),
    import('./stop.ts'),
  ])
  const stop = new AbortController()
  if (!options.once) void untilStopped(systemClock, async () => stop.abort())
  if (!options.json) note(`${network}: the running server reads it; this shows how far it is`)
  const startMs = systemClock.monotonicMs()
  const first = asked.result
  // A look that was under way may have begun before something became final.
  const rounds = first.rounds + (first.isBusy ? 2 : 1)
  let last = first
  while (!stop.signal.aborted && !(options.once && last.rounds >= rounds)) {
    await systemClock.sleep(askEveryMs, stop.signal)
    const answer = await askControl(dataDir, 'beacon', { network })
    if (!answer) throw new CommandFailure('control.failed', 'The server has stopped; what it had read is kept.')
    const now = answer.result as Standing
    if (now.trouble !== null && now.rounds > last.rounds) tellTrouble(options, now)
    if (now.until !== last.until && !options.json) note(`${network}: epoch ${now.until} of ${now.finalizedEpoch - 1}`)
    last = now
  }
  report(options, { ...last, written: Math.max(0, last.until - first.until) }, systemClock.monotonicMs() - startMs)
  return true
}

function tellTrouble({ once }: BeaconCommand, { trouble }: Standing): void {
  if (once) throw new CommandFailure('beacon.unavailable', trouble ?? '')
  note(`tetrad: ${trouble}; the server tries again`)
}

/** Until stopped, or with `once` until everything that is final has been read. */
export async function ingestBeacon(options: BeaconCommand, stores: Stores, settings: Settings): Promise<void> {
  const [{ depositsOf, millStart }, { Follower }, { openMills }, { systemClock }, { systemRandom }, { openLog }] =
    await Promise.all([
      import('#groups/validators/ingest/start.ts'),
      import('#groups/validators/ingest/follow.ts'),
      import('#groups/validators/ingest/mills.ts'),
      import('#io/clock.ts'),
      import('#io/random.ts'),
      import('#io/log.ts'),
    ])
  const [{ poll }, { untilStopped }] = await Promise.all([import('#ingest/poll.ts'), import('./stop.ts')])
  const { network } = options
  const { everyMs } = settings.validators.networks[network].beacon
  const log = openLog('warn', (line) => process.stderr.write(line))
  const desk = { ...stores, settings, clock: systemClock, random: systemRandom, log }
  await using mills = openMills([await millStart(desk, network)])
  const mill = mills.of(network)
  const follower = new Follower(desk, network, mill)
  const stop = new AbortController()
  const startMs = systemClock.monotonicMs()
  let last: Progress = { until: 0, finalizedEpoch: 0, written: 0 }
  const step = async (signal: AbortSignal) => {
    last = await follower.catchUp(signal, ({ until, finalizedEpoch }) => {
      if (!options.json) note(`${network}: epoch ${until} of ${finalizedEpoch - 1}`)
    })
    const { execution } = settings.validators.networks[network]
    if (execution.rpc.length > 0) await depositsOf(desk, network, await mill.chain(signal)).catchUp(signal)
  }
  const work = options.once
    ? step(stop.signal)
    : poll(desk, { everyMs, timeoutMs: attemptMs, backoffMaxMs, work: step, report: tellFailure }, stop.signal)
  await Promise.race([work, untilStopped(systemClock, async () => stop.abort())])
  await work.catch((error) => {
    if (!stop.signal.aborted) throw error
  })
  report(options, last, systemClock.monotonicMs() - startMs)
}

const tellFailure = (outcome: { readonly is: string; readonly error?: unknown }): void => {
  if (outcome.is === 'failed') note(`tetrad: ${(outcome.error as Error).message}; trying again`)
}

function report({ network, json }: BeaconCommand, { until, finalizedEpoch, written }: Progress, tookMs: number): void {
  const seconds = Number((tookMs / 1000).toFixed(3))
  if (json) printJson({ network, until, finalizedEpoch, written, seconds })
  else print(`${network}: read up to epoch ${until}, ${written} epochs in ${seconds.toFixed(1)} s`)
}
