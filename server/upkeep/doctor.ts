// What the doctor can only ask whoever has the stores open: whether they are sound, whether what is in them is fresh and
// complete, and whether a sample of stored answers still follows from its sources.
import { ageText } from '#core/age.ts'
import { indexProblems } from '#groups/explorer/index-start.ts'
import { confirmationMaxMs } from '#groups/explorer/standing.ts'
import { rateFindings } from '#groups/fx/rates.ts'
import { sourceHealth } from '#groups/fx/source-health.ts'
import { allStandings, feedTrouble } from '#groups/markets/standing.ts'
import { queryDuties } from '#groups/validators/duties/store.ts'
import { listKeys } from '#store/keys.ts'
import type { AppContext } from '../context.ts'
import { coverageReport, rateStream, type Stream } from './coverage.ts'
import { bad, type Diagnosis, examined, warn, well } from './diagnosis.ts'
import { chainStream } from './heads.ts'
import { networkFindings } from './network-findings.ts'
import { rateAdvice } from './rate-advice.ts'
import type { Recheck, Rechecked } from './recheck.ts'
import { rechecks } from './rechecks.ts'

const samplesMax = 1000
const differingShown = 5

export async function storeDiagnoses(context: AppContext, sampleSize: number): Promise<readonly Diagnosis[]> {
  const count = Math.max(0, Math.min(samplesMax, Math.floor(sampleSize)))
  return [
    ...(await examined('stores', 'see the log; restore the last backup if a file is damaged', () =>
      soundness(context),
    )),
    ...(await examined('keys', 'see the log', () => keyFindings(context))),
    ...(await examined('coverage', 'see the log', () => streamFindings(context))),
    ...(await examined('indexes', 'see the log', () => indexFindings(context))),
    ...(await examined('networks', 'see the log', () => networkFindings(context))),
    ...(await examined('rates', 'see the log', () => pricing(context))),
    ...(await recheckFindings(context, count)),
  ]
}

/** Every row of the duties is read and checked. The state file is checked from outside (machine.ts): here it would keep callers waiting. */
async function soundness({ state, duties }: AppContext): Promise<Diagnosis[]> {
  await state.get('select 1 as one')
  const counts = Object.values(await queryDuties(duties, 'countRows', undefined))
  const rows = counts.reduce((a, b) => a + b, 0)
  return [well('stores', `both answer, and all ${rows} rows of the duties are sound`)]
}

async function keyFindings({ state, clock }: AppContext): Promise<Diagnosis[]> {
  const nowMs = clock.now()
  const isGood = (expiresAtMs: number | undefined) => expiresAtMs === undefined || expiresAtMs > nowMs
  const keys = (await listKeys(state)).filter((key) => key.revokedAtMs === undefined && isGood(key.expiresAtMs))
  if (keys.length > 0) return [well('keys', `${keys.length} in use`)]
  return [warn('keys', 'there is no key, so only the open interface answers', 'tetrad keys create --name … --plan …')]
}

async function streamFindings(context: AppContext): Promise<Diagnosis[]> {
  const { streams } = await coverageReport(context)
  const sources = new Map((await sourceHealth(context)).map((health) => [rateStream(health.source), health]))
  const feeds = new Map((await allStandings(context.state)).map((feed) => [`feed ${feed.source}`, feed]))
  return streams.map((stream) => {
    const feed = stream.group === 'markets' ? feeds.get(stream.name) : undefined
    const trouble = feed && feedTrouble(feed)
    if (trouble) return bad(stream.name, trouble.says, trouble.todo)
    const health = stream.group === 'fx' && stream.standing !== 'well' ? sources.get(stream.name) : undefined
    if (health) return rateAdvice(stream.name, health, context.clock.now())
    return stream.standing === 'on demand' ? aboutProbedChain(context, stream) : aboutStream(stream)
  })
}

/** A chain in mode probe needs no index. One from an earlier run answers only for the blocks that it holds. */
function aboutProbedChain({ settings }: AppContext, { name, from, until, holesCount, ageSeconds }: Stream): Diagnosis {
  if (until === from) return well(name, 'is searched on request')
  const isCurrent = ageSeconds !== null && ageSeconds * 1000 <= confirmationMaxMs(settings)
  if (isCurrent && holesCount === 0)
    return well(name, `is searched on request; indexed up to block ${(until ?? 0) - 1}`)
  return warn(
    name,
    `is searched on request; its index up to block ${(until ?? 0) - 1} is not kept up to date and does not answer for newer blocks`,
    'keep the index up to date (mode: both), or leave it: searches do not need it',
  )
}

/** What is missing where nobody reads is how the operator left it, and answers say so: worth a look, not bad. */
function aboutStream(stream: Stream): Diagnosis {
  const { group, name, holesCount, holes, complete, read, from, until, ageSeconds, standing } = stream
  const age = ageSeconds === null ? '' : `, ${ageText(ageSeconds)} old`
  const [first] = holes
  const missing = first
    ? `${holesCount === 1 ? 'a hole' : `${holesCount} holes, the first`} from ${first.from} to ${first.until - 1}`
    : 'nothing has been read yet'
  const total = (until ?? 0) - (from ?? 0)
  switch (standing) {
    case 'stale':
      return bad(
        name,
        ageSeconds === null ? 'nothing has been read yet, and nothing comes' : `is stale, and nothing comes${age}`,
        'is the server running? its log says what is wrong with this source',
      )
    case 'holes':
      return bad(
        name,
        `${missing}${age}`,
        group === 'explorer'
          ? `tetrad repair --chain ${name.split(' ')[1]}, or let the server run`
          : 'read the missing epochs: docs/validators.md',
      )
    case 'catching up': {
      const share =
        read === null || total === 0 ? '' : `, ${((100 * read) / total).toFixed(1)} % of what is known is read`
      return warn(name, `is catching up${share}${age}`, 'nothing: wait, and look again')
    }
    case 'not followed':
      if (complete) break
      return warn(
        name,
        `${missing}, and nobody reads it; answers about it say so`,
        group === 'explorer'
          ? 'give the chain a node (explorer.chains[].rpc), then: tetrad repair'
          : 'give the network a beacon node, or leave it',
      )
  }
  const upTo = until === null || total === 0 ? '' : ` up to ${until - 1}`
  return well(name, `${words[standing] ?? ''}complete${upTo}${age}`)
}

const words: Partial<Record<Stream['standing'], string>> = {
  'not followed': 'nobody follows it; what was brought in is ',
}

async function indexFindings(context: AppContext): Promise<Diagnosis[]> {
  return (await indexProblems(context)).map(({ chain, says, todo }) => bad(chainStream(chain), says, todo))
}

async function pricing(context: AppContext): Promise<Diagnosis[]> {
  return (await rateFindings(context)).map(({ name, ok, says }) =>
    ok
      ? well(name, 'every currency can be priced')
      : bad(name, says, 'see each source above: quotes are refused until there are fresh rates that agree'),
  )
}

async function recheckFindings(context: AppContext, count: number): Promise<Diagnosis[]> {
  if (count === 0) return []
  const findings: Diagnosis[] = []
  for (const one of rechecks) {
    const title = `recheck: ${one.name}`
    findings.push(
      ...(await examined(title, 'see the log', async () => [judged(title, one, await one.run(context, count))])),
    )
  }
  return findings
}

function judged(
  title: string,
  { todo }: Recheck,
  { checked, differing, doubtful = [], note, unable }: Rechecked,
): Diagnosis {
  if (differing.length > 0) return bad(title, someOf(differing), todo)
  if (doubtful.length > 0) return warn(title, someOf(doubtful), todo)
  if (unable !== undefined) {
    const agree = checked === 0 ? 'none could be compared' : `${checked} agree, the others could not be compared`
    return warn(title, `${agree}: ${unable}`, 'see to it that the source answers, then run the doctor again')
  }
  const says = checked === 0 ? 'nothing to check' : `${checked} agree`
  return well(title, note === undefined ? says : `${says} (${note})`)
}

function someOf(differing: readonly string[]): string {
  const more = differing.length > differingShown ? `; and ${differing.length - differingShown} more` : ''
  return `${differing.slice(0, differingShown).join('; ')}${more}`
}
