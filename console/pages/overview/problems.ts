// The problems of a server: one sentence each about what is wrong, and one about what to do. Failed checks and streams that
// are about the same thing are one problem.
import type { Overview, StreamView } from '#shared/console-calls.ts'
import { describePasses } from '#shared/stream-passes.ts'
import { formatCount, formatDuration } from '../../parts/format.ts'
import { rateText, unitOf } from './coverage-text.ts'

type Check = Overview['checks'][number]

export interface Problem {
  /** `warn`: it ends by itself, or the data that is there can be trusted. */
  readonly tone: 'bad' | 'warn'
  readonly subject: string
  readonly text: string
  readonly remedy: string
}

export interface Status {
  readonly checks: readonly Check[]
  readonly streams: readonly StreamView[]
}

/** The server refuses requests while a required check fails. */
export const isReady = ({ checks }: Pick<Status, 'checks'>): boolean =>
  checks.every(({ ok, required }) => ok || required === false)

/** The worst first. `nameOf` returns the name of a stream for people. */
export function findProblems({ checks, streams }: Status, nameOf: (stream: StreamView) => string): Problem[] {
  const ofStreams = streams.flatMap((stream) =>
    problemsOf(stream, nameOf(stream)).map((problem) => ({
      ...{ problem, status: stream.status, checkNames: checkNamesOf(stream) },
    })),
  )
  const known = new Set(
    ofStreams.flatMap(({ problem, status, checkNames }) =>
      problem.tone === 'bad' || status === 'behind' ? checkNames : [],
    ),
  )
  const ofChecks = checks
    .filter(({ ok, name }) => !ok && !known.has(name))
    .map(({ name, message, required }): Problem => {
      const tone = required === false ? 'warn' : 'bad'
      return { tone, subject: name, text: sentence(message), remedy: 'Run tetrad doctor on the server for details.' }
    })
  const all = [...ofChecks, ...ofStreams.map(({ problem }) => problem)]
  return [...all.filter(({ tone }) => tone === 'bad'), ...all.filter(({ tone }) => tone === 'warn')]
}

/** The checks of /readyz about the same source as a stream. That of rates is about quotes, not about one source. */
function checkNamesOf({ group, name }: StreamView): string[] {
  if (group === 'validators') return [name.replace(/^network/, 'beacon')]
  if (group === 'markets') return [name.replace(/^feed/, 'market feed')]
  return group === 'explorer' ? [`index of ${name}`, `node of ${name}`] : []
}

const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1).replace(/\.$/, '')}.`

/** The operator also gets the last errors of sources. */
const withReason = (text: string, { problem }: StreamView): string =>
  problem === undefined ? `${text}.` : `${text}: ${problem}.`

function problemsOf(stream: StreamView, subject: string): Problem[] {
  const { status, nodes } = stream
  const problem = (tone: Problem['tone'], text: string, remedy: string): Problem => ({ tone, subject, text, remedy })
  const askDoctor = 'Run tetrad doctor on the server for details.'
  if (nodes === 'disagree')
    return [problem('bad', withReason('Its nodes disagree, so nothing is stored', stream), askDoctor)]
  const found: Problem[] = []
  if (status === 'stale')
    found.push(problem('bad', withReason(`Nothing new was read${ageText(stream)}`, stream), remedies.stale(stream)))
  if (status === 'gaps') found.push(problem('bad', withReason(gapText(stream), stream), remedies.gaps(stream)))
  if (status === 'not syncing' && stream.gapsCount > 0)
    found.push(problem('warn', `${gapText(stream)}, and it has no node.`, remedies.gaps(stream)))
  if (status === 'not syncing' && stream.group === 'fx')
    found.push(problem('warn', 'It has no rate yet.', 'Set one on the server: tetrad fx rate set EUR/USD 1.0842.'))
  if (status === 'behind' && stream.passes)
    found.push(
      problem('warn', `${sentence(describePasses(stream.passes))}${behindAge(stream)}`, remedies.behind(stream)),
    )
  if (status === 'catching up')
    found.push(
      problem('warn', ['It is catching up.', rateText(stream)].join(' ').trim(), 'Nothing to do: it is being read.'),
    )
  if (stream.nextFork?.supported === false)
    found.push(
      problem(
        'warn',
        `This version does not support its next fork, ${stream.nextFork.name}, on ${stream.nextFork.at.slice(0, 10)}.`,
        stream.group === 'validators'
          ? 'Update Tetrad before this date: epochs from the fork on are not read.'
          : 'Update Tetrad before this date: blocks from the fork on may be read wrongly or not at all.',
      ),
    )
  if (stream.nextFork?.differs)
    found.push(problem('warn', `Not all of its nodes schedule the fork ${stream.nextFork.name}.`, askDoctor))
  if (nodes === 'not compared') found.push(problem('warn', 'Not all of its nodes could be compared.', askDoctor))
  // One of several nodes fails, or a rate is not used: the others suffice.
  if (found.length === 0 && stream.problem !== undefined)
    found.push(problem('warn', `Error: ${stream.problem}.`, askDoctor))
  return found
}

const behindAge = ({ ageSeconds }: StreamView): string =>
  ageSeconds === null ? '' : ` Its data is ${formatDuration(Math.max(0, ageSeconds))} old.`

const ageText = ({ ageSeconds }: StreamView): string =>
  ageSeconds === null ? '' : ` for ${formatDuration(Math.max(0, ageSeconds))}`

function gapText(stream: StreamView): string {
  const { from, until, read, gapsCount } = stream
  if (from === null || until === null || read === null) return 'Data is missing'
  const missing = until - from - read
  const one = missing === 1
  const places = gapsCount === 1 ? '' : ` in ${formatCount(gapsCount)} places`
  return `${formatCount(missing)} ${one ? unitOf(stream).slice(0, -1) : unitOf(stream)} ${one ? 'is' : 'are'} missing${places}`
}

const idOf = ({ name }: StreamView): string => name.split(' ').slice(1).join(' ')

const remedies = {
  behind: ({ group }: StreamView): string =>
    group === 'markets'
      ? 'Raise perSecond or paging.size of the feed, or its everyMs.'
      : 'Check why the source responds slowly, or raise its everyMs.',
  stale: ({ group }: StreamView): string =>
    ({
      explorer: 'Check that the node of the chain is running and in sync.',
      fx: 'Check that the source responds and its rates are new.',
      validators: 'Check that the beacon node is running and in sync.',
      markets: 'Check that the feed responds.',
    })[group],
  gaps: (stream: StreamView): string =>
    ({
      explorer: `Add a node that can trace them to explorer.chains, then run tetrad repair --chain ${idOf(stream)}.`,
      fx: 'Check that the source has all rates.',
      validators: `Add a node that has the state and the blocks of these epochs to validators.networks.${idOf(stream)}.beacon.urls and restart.`,
      markets: 'Check the feed, or run tetrad doctor on the server for the missing records.',
    })[stream.group],
}
