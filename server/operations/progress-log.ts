// Logs how far a stream that is behind has been read: when its rate is first known, then every ten minutes, and once when
// it has caught up. Each look at the coverage also measures the rates, so they are known when an operator asks.
import type { AppContext } from '#server/context.ts'
import type { Coverage } from './coverage.ts'
import { rateText, remainingText, shareText } from './progress-text.ts'

const lookEveryMs = 60_000
const logEveryMs = 600_000

/** Returns a function that stops it. */
export function startProgressLog(
  { clock, log }: Pick<AppContext, 'clock' | 'log'>,
  coverage: () => Promise<Coverage>,
): () => void {
  /** When each stream that is behind was last logged. Streams come from the configuration, so there are few. */
  const loggedMs = new Map<string, number>()

  async function look(): Promise<void> {
    // A database that does not respond is reported by the health checks.
    const { streams } = await coverage().catch(() => ({ streams: [] }))
    for (const stream of streams) {
      const { name, status, remaining, perSecond } = stream
      const lastMs = loggedMs.get(name)
      if (status === 'healthy') {
        if (loggedMs.delete(name)) log.info({ stream: name }, 'caught up')
        continue
      }
      const isDue = lastMs === undefined || clock.monotonicMs() - lastMs >= logEveryMs
      if (status !== 'catching up' || remaining === null || perSecond === null || !isDue) continue
      loggedMs.set(name, clock.monotonicMs())
      const { share, remainingSeconds } = stream
      const known = {
        ...(share !== null && { read: shareText(stream) }),
        rate: rateText(stream),
        ...(remainingSeconds !== null && { left: remainingText(stream) }),
      }
      log.info({ stream: name, ...known }, 'catching up')
    }
  }

  void look()
  return clock.every(lookEveryMs, () => void look())
}
