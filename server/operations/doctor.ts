// What the doctor can only ask whoever has the stores open: whether they are sound, whether what is in them is fresh and
// complete, and whether a sample of stored answers still follows from its sources.
import { ageText } from '#core/age.ts'
import { confirmationMaxMs } from '#explorer/funding/coverage.ts'
import { reportIndexProblems } from '#explorer/funding/index/start.ts'
import { rateFindings } from '#fx/rates/poll-rates.ts'
import { readSourceHealth } from '#fx/rates/source-health.ts'
import { findFeedProblem, readFeedStates } from '#markets/feeds/feed-state.ts'
import type { AppContext } from '#server/context.ts'
import { listKeys } from '#storage/keys.ts'
import { queryDuties } from '#validators/duties/store.ts'
import { chainStream } from './chain-progress.ts'
import { coverageReport, rateStream, type Stream } from './coverage.ts'
import { badFinding, type DoctorFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'
import { networkFindings } from './network-findings.ts'
import { rateAdvice } from './rate-advice.ts'
import type { Verification, VerificationResult } from './verification.ts'
import { verifications } from './verifications.ts'

const samplesMax = 1000
const differingShown = 5

export async function storeDiagnoses(context: AppContext, sampleSize: number): Promise<readonly DoctorFinding[]> {
  const count = Math.max(0, Math.min(samplesMax, Math.floor(sampleSize)))
  return [
    ...(await runCheck('stores', 'see the log; restore the last backup if a file is damaged', () =>
      checkDuties(context),
    )),
    ...(await runCheck('keys', 'see the log', () => keyFindings(context))),
    ...(await runCheck('coverage', 'see the log', () => streamFindings(context))),
    ...(await runCheck('indexes', 'see the log', () => indexFindings(context))),
    ...(await runCheck('networks', 'see the log', () => networkFindings(context))),
    ...(await runCheck('rates', 'see the log', () => pricing(context))),
    ...(await verificationFindings(context, count)),
  ]
}

/** Every row of the duties is read and checked. The state file is checked from outside (machine.ts): here it would keep callers waiting. */
async function checkDuties({ state, duties }: AppContext): Promise<DoctorFinding[]> {
  await state.get('select 1 as one')
  const counts = Object.values(await queryDuties(duties, 'countRows', undefined))
  const rows = counts.reduce((a, b) => a + b, 0)
  return [okFinding('stores', `both answer, and all ${rows} rows of the duties are sound`)]
}

async function keyFindings({ state, clock }: AppContext): Promise<DoctorFinding[]> {
  const nowMs = clock.now()
  const isGood = (expiresAtMs: number | undefined) => expiresAtMs === undefined || expiresAtMs > nowMs
  const keys = (await listKeys(state)).filter((key) => key.revokedAtMs === undefined && isGood(key.expiresAtMs))
  if (keys.length > 0) return [okFinding('keys', `${keys.length} in use`)]
  return [
    warnFinding('keys', 'there is no key, so only the open interface answers', 'tetrad keys create --name … --plan …'),
  ]
}

async function streamFindings(context: AppContext): Promise<DoctorFinding[]> {
  const { streams } = await coverageReport(context)
  const sources = new Map((await readSourceHealth(context)).map((health) => [rateStream(health.source), health]))
  const feeds = new Map((await readFeedStates(context.state)).map((feed) => [`feed ${feed.source}`, feed]))
  return streams.map((stream) => {
    const feed = stream.group === 'markets' ? feeds.get(stream.name) : undefined
    const trouble = feed && findFeedProblem(feed)
    if (trouble) return badFinding(stream.name, trouble.message, trouble.todo)
    const health = stream.group === 'fx' && stream.standing !== 'well' ? sources.get(stream.name) : undefined
    if (health) return rateAdvice(stream.name, health, context.clock.now())
    return stream.standing === 'on demand' ? aboutProbedChain(context, stream) : aboutStream(stream)
  })
}

/** A chain in mode probe needs no index. One from an earlier run answers only for the blocks that it holds. */
function aboutProbedChain(
  { settings }: AppContext,
  { name, from, until, holesCount, ageSeconds }: Stream,
): DoctorFinding {
  if (until === from) return okFinding(name, 'is searched on request')
  const isCurrent = ageSeconds !== null && ageSeconds * 1000 <= confirmationMaxMs(settings)
  if (isCurrent && holesCount === 0)
    return okFinding(name, `is searched on request; indexed up to block ${(until ?? 0) - 1}`)
  return warnFinding(
    name,
    `is searched on request; its index up to block ${(until ?? 0) - 1} is not kept up to date and does not answer for newer blocks`,
    'keep the index up to date (mode: both), or leave it: searches do not need it',
  )
}

/** What is missing where nobody reads is how the operator left it, and answers say so: worth a look, not bad. */
function aboutStream(stream: Stream): DoctorFinding {
  const { group, name, holesCount, holes, complete, read, from, until, ageSeconds, standing } = stream
  const age = ageSeconds === null ? '' : `, ${ageText(ageSeconds)} old`
  const [first] = holes
  const missing = first
    ? `${holesCount === 1 ? 'a hole' : `${holesCount} holes, the first`} from ${first.from} to ${first.until - 1}`
    : 'nothing has been read yet'
  const total = (until ?? 0) - (from ?? 0)
  switch (standing) {
    case 'stale':
      return badFinding(
        name,
        ageSeconds === null ? 'nothing has been read yet, and nothing comes' : `is stale, and nothing comes${age}`,
        'is the server running? its log says what is wrong with this source',
      )
    case 'holes':
      return badFinding(
        name,
        `${missing}${age}`,
        group === 'explorer'
          ? `tetrad repair --chain ${name.split(' ')[1]}, or let the server run`
          : 'read the missing epochs: docs/validators.md',
      )
    case 'catching up': {
      const share =
        read === null || total === 0 ? '' : `, ${((100 * read) / total).toFixed(1)} % of what is known is read`
      return warnFinding(name, `is catching up${share}${age}`, 'nothing: wait, and look again')
    }
    case 'not followed':
      if (complete) break
      return warnFinding(
        name,
        `${missing}, and nobody reads it; answers about it say so`,
        group === 'explorer'
          ? 'give the chain a node (explorer.chains[].rpc), then: tetrad repair'
          : 'give the network a beacon node, or leave it',
      )
  }
  const upTo = until === null || total === 0 ? '' : ` up to ${until - 1}`
  return okFinding(name, `${statusPrefixes[standing] ?? ''}complete${upTo}${age}`)
}

const statusPrefixes: Partial<Record<Stream['standing'], string>> = {
  'not followed': 'nobody follows it; what was brought in is ',
}

async function indexFindings(context: AppContext): Promise<DoctorFinding[]> {
  return (await reportIndexProblems(context)).map(({ chain, message, todo }) =>
    badFinding(chainStream(chain), message, todo),
  )
}

async function pricing(context: AppContext): Promise<DoctorFinding[]> {
  return (await rateFindings(context)).map(({ name, ok, message }) =>
    ok
      ? okFinding(name, 'every currency can be priced')
      : badFinding(name, message, 'see each source above: quotes are refused until there are fresh rates that agree'),
  )
}

async function verificationFindings(context: AppContext, count: number): Promise<DoctorFinding[]> {
  if (count === 0) return []
  const findings: DoctorFinding[] = []
  for (const one of verifications) {
    const title = `recheck: ${one.name}`
    findings.push(
      ...(await runCheck(title, 'see the log', async () => [toFinding(title, one, await one.run(context, count))])),
    )
  }
  return findings
}

function toFinding(
  title: string,
  { todo }: Verification,
  { checked, differing, doubtful = [], note, unable }: VerificationResult,
): DoctorFinding {
  if (differing.length > 0) return badFinding(title, someOf(differing), todo)
  if (doubtful.length > 0) return warnFinding(title, someOf(doubtful), todo)
  if (unable !== undefined) {
    const agree = checked === 0 ? 'none could be compared' : `${checked} agree, the others could not be compared`
    return warnFinding(title, `${agree}: ${unable}`, 'see to it that the source answers, then run the doctor again')
  }
  const message = checked === 0 ? 'nothing to check' : `${checked} agree`
  return okFinding(title, note === undefined ? message : `${message} (${note})`)
}

function someOf(differing: readonly string[]): string {
  const more = differing.length > differingShown ? `; and ${differing.length - differingShown} more` : ''
  return `${differing.slice(0, differingShown).join('; ')}${more}`
}
