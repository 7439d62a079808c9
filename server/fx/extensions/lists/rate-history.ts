// Extension: past rates of a pair, thinned out for a plot (behaviour/fx.md#rate-history).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'

/** Parts of the requested time; each has at most one rate. */
const parts = 120
const hourMs = 3_600_000

export const rateHistory = createHandler(
  extensions['fx.rateHistory'],
  async ({ base, quote, hours }, { state, settings, clock }) => {
    const period = { fromMs: clock.now() - hours * hourMs, stepMs: (hours * hourMs) / parts }
    const sources = []
    for (const { id } of settings.fx.sources) {
      const direct = await readPoints(state, { source: id, base, quote, ...period })
      const inverse =
        direct.length > 0 ? [] : await readPoints(state, { source: id, base: quote, quote: base, ...period })
      const points = [...direct, ...inverse.map(({ atMs, rate }) => ({ atMs, rate: 1 / rate }))]
      if (points.length === 0) continue
      sources.push({ source: id, points: points.map(({ atMs, rate }) => ({ at: new Date(atMs).toISOString(), rate })) })
    }
    return { is: 'body', body: { base, quote, sources } }
  },
)

interface PointQuery {
  readonly source: string
  readonly base: string
  readonly quote: string
  readonly fromMs: number
  readonly stepMs: number
}

/** The last rate of each step, oldest first. */
async function readPoints(
  state: StateReader,
  { source, base, quote, fromMs, stepMs }: PointQuery,
): Promise<{ readonly atMs: number; readonly rate: number }[]> {
  const pair = [source, base, quote]
  const rows = await state.all<{ atMs: number; rate: string }>(
    `select at_ms as "atMs", rate from fx_rates
     where source = ? and base = ? and quote = ? and at_ms in (
       select max(at_ms) from fx_rates where source = ? and base = ? and quote = ? and at_ms >= ? group by at_ms / cast(? as bigint))
     order by at_ms`,
    ...[...pair, ...pair, fromMs, stepMs],
  )
  return rows.map(({ atMs, rate }) => ({ atMs: Number(atMs), rate: Number(rate) })).filter(({ rate }) => rate > 0)
}
