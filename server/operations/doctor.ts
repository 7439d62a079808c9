// Doctor checks of the stored data: whether the stores are intact, fresh and complete, and whether a sample of stored
// results can still be derived from its sources. They run in the process that has the stores open.
import { formatAgeOf } from '#core/age.ts'
import { chainStream, confirmationMaxMs } from '#explorer/funding/chain-coverage.ts'
import { readChainProblems, refreshTips, reportIndexProblems } from '#explorer/funding/index/start-chains.ts'
import { findNode } from '#explorer/nodes.ts'
import { checkSpender } from '#fx/extensions/signature-check/check-spender.ts'
import { rateFindings } from '#fx/rates/poll-rates.ts'
import { isContradictory, readSourceHealth } from '#fx/rates/source-health.ts'
import { findFeedProblem, readFeedStates } from '#markets/read/feed-state.ts'
import type { AppContext } from '#server/context.ts'
import { describePasses } from '#shared/stream-passes.ts'
import { listKeys } from '#storage/keys.ts'
import { missingTodo } from '#validators/ingest/gaps/explain-gaps.ts'
import { coverageReport, rateStream, type Stream } from './coverage.ts'
import { type DoctorFinding, failFinding, okFinding, runCheck, warnFinding } from './diagnosis.ts'
import { marketGrowthFindings } from './market-growth.ts'
import { mirrorFindings } from './mirror/mirror-findings.ts'
import { networkFindings } from './network-findings.ts'
import { progressText, shareText, unitOf } from './progress-text.ts'
import { describeClockDoubt } from './proven-time/keep-proven-time.ts'
import { rateAdvice } from './rate-advice.ts'
import type { Verification, VerificationResult } from './verification.ts'
import { fundingVerification } from './verify-fundings.ts'
import { quotePriceVerification, rateVerification, tradeVerification } from './verify-fx.ts'
import { marketRecordVerification } from './verify-markets.ts'
import { dutyHourVerification, registryVerification } from './verify-validators.ts'

/** One entry for each kind of stored result (behaviour/operations.md#doctor). */
export const verifications: readonly Verification[] = [
  fundingVerification,
  quotePriceVerification,
  tradeVerification,
  rateVerification,
  dutyHourVerification,
  registryVerification,
  marketRecordVerification,
]

const samplesMax = 1000
const differingShown = 5

/** Without a server, data that is only old is a warning: the next server reads it. `dataDir`: has snapshots of states. */
export async function storeDiagnoses(
  context: AppContext,
  samples: number,
  hasServer = true,
  dataDir?: string,
): Promise<DoctorFinding[]> {
  const count = Math.max(0, Math.min(samplesMax, Math.floor(samples)))
  return [
    ...(await runCheck('stores', 'see the log; restore the last backup if a file is damaged', () =>
      checkDuties(context),
    )),
    ...(await runCheck('keys', 'see the log', () => keyFindings(context))),
    ...clockDoubtFindings(context),
    // Before the coverage, which reports what this finds.
    ...(await runCheck('nodes', 'see the log', () => nodeFindings(context))),
    ...(await runCheck('coverage', 'see the log', () => streamFindings(context, hasServer))),
    ...(await runCheck('history of markets', 'see the log', () => marketGrowthFindings(context))),
    ...(await runCheck('indexes', 'see the log', () => indexFindings(context))),
    ...(await runCheck('networks', 'see the log', () => networkFindings(context))),
    ...(await runCheck('rates', 'see the log', () => pricingFindings(context, hasServer))),
    ...(await runCheck('settlement contract', 'see the log', () => spenderFindings(context))),
    ...(await runCheck('ClickHouse mirror', 'see the log', () => mirrorFindings(context))),
    ...(await verificationFindings(context, count, dataDir)),
  ]
}

/** Reads and checks every duty row. The other files are checked in machine.ts, because here it would delay requests. */
async function checkDuties({ state, ingest, duties }: AppContext): Promise<DoctorFinding[]> {
  for (const store of [state, ingest]) await store.get('select 1 as one')
  const counts = Object.values(await duties.query('countRows', undefined))
  const rows = counts.reduce((a, b) => a + b, 0)
  return [okFinding('stores', `reachable; all ${rows} duty rows are intact`)]
}

function clockDoubtFindings(context: AppContext): DoctorFinding[] {
  const doubt = describeClockDoubt(context)
  return doubt ? [warnFinding('retention', doubt.message, doubt.todo)] : []
}

async function keyFindings({ state, provenTime }: AppContext): Promise<DoctorFinding[]> {
  const nowMs = provenTime.forKeys()
  const isUnexpired = (expiresAtMs: number | undefined) => expiresAtMs === undefined || expiresAtMs > nowMs
  const keys = (await listKeys(state)).filter((key) => key.revokedAtMs === undefined && isUnexpired(key.expiresAtMs))
  if (keys.length > 0) return [okFinding('keys', `${keys.length} in use`)]
  return [
    warnFinding('keys', 'no active key: only endpoints without keys work', 'tetrad keys create --name … --plan …'),
  ]
}

async function streamFindings(context: AppContext, hasServer: boolean): Promise<DoctorFinding[]> {
  const { streams } = await coverageReport(context)
  const sources = new Map((await readSourceHealth(context)).map((health) => [rateStream(health.source), health]))
  const feeds = new Map((await readFeedStates(context.ingest)).map((feed) => [`feed ${feed.source}`, feed]))
  return streams.map((stream) => {
    const feed = stream.group === 'markets' ? feeds.get(stream.name) : undefined
    const problem = feed && findFeedProblem(feed)
    if (problem) return failFinding(stream.name, problem.message, problem.todo)
    const source = sources.get(stream.name)
    const health =
      source && (!['healthy', 'behind'].includes(stream.status) || isContradictory(source)) ? source : undefined
    if (stream.status === 'on demand') return aboutProbedChain(context, stream)
    const finding = health ? rateAdvice(stream.name, health, context.clock.now()) : aboutStream(stream)
    // A stale stream may also have gaps, which are a failure.
    const isOnlyOld = health || (stream.status === 'stale' && stream.gapsCount === 0)
    return isOnlyOld && !hasServer ? { ...finding, level: 'warn' } : finding
  })
}

/** A chain in mode probe needs no index. One from an earlier run is used only for the blocks that it has. */
function aboutProbedChain(
  { settings }: AppContext,
  { name, from, until, gapsCount, ageSeconds }: Stream,
): DoctorFinding {
  if (until === from) return okFinding(name, 'searched on request')
  const isCurrent = ageSeconds !== null && Math.abs(ageSeconds) * 1000 <= confirmationMaxMs(settings)
  if (isCurrent && gapsCount === 0)
    return okFinding(name, `searched on request; indexed up to block ${(until ?? 0) - 1}`)
  return warnFinding(
    name,
    `searched on request; its index up to block ${(until ?? 0) - 1} is not kept up to date and cannot be used for newer blocks`,
    'keep the index up to date (mode: both), or leave it: searches do not need it',
  )
}

const behindTodo = (group: Stream['group']): string =>
  group === 'markets'
    ? 'raise perSecond or paging.size of the feed, read less in a pass (recent, query), or raise its everyMs to what it can keep'
    : 'check why the source responds slowly, or raise its everyMs'

/** Missing data of a stream that is not syncing is only a warning: it has no source by configuration. */
function aboutStream(stream: Stream): DoctorFinding {
  const { group, name, gapsCount, gaps, gapless, share, from, until, ageSeconds, status, problem } = stream
  const age = ageSeconds === null ? '' : `, ${formatAgeOf(ageSeconds * 1000)}`
  const [first] = gaps
  const more = gapsCount > 1 ? ` (first of ${gapsCount} gaps)` : ''
  const reason = first?.reason === undefined ? '' : `: ${first.reason}`
  const missing = first
    ? `${unitOf(stream)} ${first.from} to ${first.until - 1} are missing${more}`
    : 'nothing has been read yet'
  const total = (until ?? 0) - (from ?? 0)
  const why = group === 'validators' && problem !== undefined ? `: ${problem}` : ''
  switch (status) {
    case 'stale':
      if (group === 'explorer' && problem !== undefined) return failFinding(name, `stale: ${problem}${age}`, staleTodo)
      return failFinding(
        name,
        ageSeconds === null
          ? `nothing has been read yet, and no data arrives${why}`
          : `stale: no data arrives${share === null ? '' : `, ${shareText(stream)} read`}${age}${why}`,
        'check that the server is running; its log has the errors of this source',
      )
    case 'gaps':
      return failFinding(
        name,
        `${missing}${age}${reason}`,
        group === 'explorer'
          ? `tetrad repair --chain ${name.split(' ')[1]}, or keep the server running`
          : missingTodo(name.split(' ')[1] ?? ''),
      )
    case 'catching up': {
      const known = progressText(stream)
      const progress = known === '' ? '' : `, ${known}`
      return warnFinding(name, `catching up${progress}${age}`, 'wait, then check again')
    }
    case 'waiting':
      return okFinding(name, `waiting for the first final ${group === 'explorer' ? 'block' : 'epoch'} of the chain`)
    case 'behind':
      if (stream.passes)
        return warnFinding(
          name,
          `${describePasses(stream.passes)}${age === '' ? '' : `; the data is${age.slice(1)}`}`,
          behindTodo(group),
        )
      break
    case 'not syncing':
      if (gapless) break
      return warnFinding(
        name,
        `${missing}, and there is no source to read them from; responses report the gap`,
        group === 'explorer'
          ? `add a node (explorer.chains[].rpc), then run: tetrad repair --chain ${name.split(' ')[1]}`
          : 'add a beacon node (validators.networks[].beacon.urls), if the data is needed',
      )
  }
  const upTo = until === null || total === 0 ? '' : ` up to ${until - 1}`
  return okFinding(name, `${status === 'not syncing' ? 'not syncing; the stored data has ' : ''}no gaps${upTo}${age}`)
}

async function indexFindings(context: AppContext): Promise<DoctorFinding[]> {
  return (await reportIndexProblems(context)).map(({ chain, message, todo }) =>
    failFinding(chainStream(chain), message, todo),
  )
}

/** Compares the nodes of each chain. */
async function nodeFindings(context: AppContext): Promise<DoctorFinding[]> {
  await refreshTips(context)
  const nodes = context.settings.explorer.chains.flatMap(({ id }) => findNode(context, id) ?? [])
  const findings = await Promise.all(
    nodes.map(async (node) =>
      (await readChainProblems(context, node)).map((problem) =>
        warnFinding(`nodes of ${chainStream(node.chain.id)}`, problem, staleTodo),
      ),
    ),
  )
  return findings.flat()
}

const staleTodo = 'check the node, or add another one (explorer.chains[].rpc)'

async function pricingFindings(context: AppContext, hasServer: boolean): Promise<DoctorFinding[]> {
  return (await rateFindings(context)).map(({ name, ok, message }) =>
    ok
      ? okFinding(name, 'every currency can be priced')
      : (hasServer ? failFinding : warnFinding)(name, message, 'see each source above; quotes need fresh rates'),
  )
}

async function spenderFindings({ settings: { fx, groups }, clock, random }: AppContext): Promise<DoctorFinding[]> {
  if (!groups.fx.enabled || fx.spender === '' || fx.rpcUrl === '') return []
  const { is, message } = await checkSpender({ fx, clock, random })
  if (is === 'refuses') return [okFinding('settlement contract', message)]
  const todo = is === 'unknown' ? 'check fx.rpcUrl' : 'use a contract that only you can call: examples/settlement'
  return [warnFinding('settlement contract', message, todo)]
}

async function verificationFindings(context: AppContext, count: number, dataDir?: string): Promise<DoctorFinding[]> {
  if (count === 0) return []
  const findings: DoctorFinding[] = []
  for (const verification of verifications) {
    const title = `verify: ${verification.name}`
    findings.push(
      ...(await runCheck(title, 'see the log', async () => [
        toFinding(title, verification, await verification.run(context, count, dataDir)),
      ])),
    )
  }
  return findings
}

function toFinding(
  title: string,
  { todo }: Verification,
  { checked, differing, doubtful = [], note, unable }: VerificationResult,
): DoctorFinding {
  if (differing.length > 0) return failFinding(title, someOf(differing), todo)
  if (doubtful.length > 0) return warnFinding(title, someOf(doubtful), todo)
  if (unable !== undefined) {
    const agree = checked === 0 ? 'none could be compared' : `${checked} agree, the others could not be compared`
    return warnFinding(title, `${agree}: ${unable}`, 'check the source, then run the doctor again')
  }
  const message = checked === 0 ? 'nothing to check' : `${checked} agree`
  return okFinding(title, note === undefined ? message : `${message} (${note})`)
}

function someOf(differing: readonly string[]): string {
  const more = differing.length > differingShown ? `; and ${differing.length - differingShown} more` : ''
  return `${differing.slice(0, differingShown).join('; ')}${more}`
}
