// The last five minutes of the overview as lines of a plot. The server reports counters, so a rate is the difference of
// two samples over the time between them. A restart resets the counters and clears the history.
import type { Overview } from '#api/console.ts'
import { groups } from '#api/routes.ts'
import type { Line } from '../../parts/plot.tsx'

type OverviewSample = ReturnType<typeof toSample>
export type History = readonly OverviewSample[]
export const emptyHistory: History = []

/** Five minutes at one sample every two seconds. */
const samplesMax = 150

export function addSample(history: History, report: Overview): History {
  const sample = toSample(report)
  const last = history.at(-1)
  if (last && last.startedAt !== sample.startedAt) return [sample]
  if (last && last.atSeconds >= sample.atSeconds) return history
  return [...history, sample].slice(-samplesMax)
}

function toSample({ at, startedAt, requests, limited, ingest }: Overview) {
  const byGroup = new Map<string, number>()
  let [answered, seconds] = [0, 0]
  for (const { endpoint, outcomes, ...timed } of requests) {
    const group = groups.find((name) => endpoint.startsWith(`${name}.`))
    if (!group) continue
    const count = Object.values(outcomes).reduce((sum, times) => sum + times, 0)
    byGroup.set(group, (byGroup.get(group) ?? 0) + count)
    answered += timed.answered
    seconds += timed.seconds
  }
  return {
    atSeconds: Date.parse(at) / 1000,
    startedAt,
    requests: byGroup,
    refused: new Map(Object.entries(limited)),
    ingest: new Map(ingest.map(({ stream, unit, done }) => [`${stream}, ${unit}`, done])),
    answered,
    seconds,
  }
}

export function toLines(history: History) {
  const pairs = history.slice(1).map((now, index) => [history[index] as OverviewSample, now] as const)
  const rates = (
    pick: (sample: OverviewSample) => ReadonlyMap<string, number>,
    always: readonly string[] = [],
  ): Line[] => {
    const names = new Set([...always, ...history.flatMap((sample) => [...pick(sample).keys()])])
    return [...names].map((label) => ({
      label,
      values: pairs.map(([before, now]) => {
        const increase = (pick(now).get(label) ?? 0) - (pick(before).get(label) ?? 0)
        return increase / (now.atSeconds - before.atSeconds)
      }),
    }))
  }
  const latency = pairs.map(([before, now]) => {
    const answered = now.answered - before.answered
    return answered === 0 ? null : ((now.seconds - before.seconds) / answered) * 1000
  })
  return {
    xs: pairs.map(([, now]) => now.atSeconds),
    requests: rates(({ requests }) => requests, groups),
    refused: rates(({ refused }) => refused),
    latency: [{ label: 'mean', values: latency }],
    ingest: rates(({ ingest }) => ingest),
  }
}
