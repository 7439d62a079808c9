// `tetrad coverage`: how much of each chain, network and feed has been read, how old it is, and where the gaps are.
import type { Command } from 'commander'
import { ageText } from '#core/age.ts'
import type { Coverage, Stream } from '#operations/coverage.ts'
import { rateText, remainingText, shareText } from '#operations/progress-text.ts'
import { describePasses } from '#shared/stream-passes.ts'
import { missingTodo } from '#validators/ingest/gaps/explain-gaps.ts'
import { withIngest } from './data.ts'
import { queryOwner } from './data-owner.ts'
import { counted, note, paint, print, printJson, type Tone, table } from './print.ts'
import { withActivity } from './progress.ts'
import { type CommonOptions, configOf } from './settings.ts'
import { whichChain } from './which-chain.ts'

interface ShownStream extends Stream {
  readonly chain?: string
  readonly addresses?: number
}

const gapsShown = 10

export function addCoverage(program: Command): void {
  program
    .command('coverage')
    .description(
      'Show how fresh the data of each chain, network, rate source and feed is, how much was read, and where it has gaps. Exits with 1 if something is stale, behind or missing.',
    )
    .option('--chain <id>', 'only this chain')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { chain?: string }>()
      const shown = await withActivity('Reading the coverage', () => reportsOf(options), { quiet: options.json })
      if (options.json) printJson(shown)
      else printStreams(shown)
      if (shown.some(needsAttention)) process.exitCode = 1
    })
}

async function reportsOf(options: CommonOptions & { chain?: string }): Promise<readonly ShownStream[]> {
  const { currentCoverage } = await import('#operations/coverage.ts')
  const { streams } = await queryOwner<Coverage>(options, { name: 'coverage', runInProcess: currentCoverage })
  const { settings } = await configOf(options)
  const { chains } = settings.explorer
  if (options.chain !== undefined) whichChain(settings, options.chain)
  const selected = streams.filter(({ name }) => options.chain === undefined || name === `chain ${options.chain}`)
  // Counting takes a while, so the command does it and not the server.
  return withIngest(options, 'found', async (ingest) => {
    const shown: ShownStream[] = []
    for (const stream of selected) {
      const chain = chains.find(({ id }) => stream.name === `chain ${id}`)?.id
      const row =
        chain === undefined
          ? undefined
          : await ingest.get<{ count: number }>('select count(*) as count from fundings where chain = ?', chain)
      shown.push({ ...stream, ...(chain !== undefined && { chain, addresses: row?.count ?? 0 }) })
    }
    return shown
  })
}

/** A stream that is not syncing has no source by configuration, so it is no problem. */
const needsAttention = ({ status }: Stream): boolean => status === 'stale' || status === 'gaps' || status === 'behind'

const tones: Readonly<Partial<Record<Stream['status'], Tone>>> = {
  healthy: 'ok',
  'catching up': 'warning',
  behind: 'warning',
  stale: 'error',
  gaps: 'error',
}

function formatStatus(stream: Stream): string {
  const tone = tones[stream.status]
  const text = needsAttention(stream) ? stream.status.toUpperCase() : stream.status
  return tone ? paint(tone, text) : text
}

/** A push source before its first rate. */
const isWaiting = ({ group, status }: Stream): boolean => group === 'fx' && status === 'not syncing'

function printStreams(streams: readonly ShownStream[]): void {
  const rows = streams.map((stream) => {
    const { name, from, until, gapsCount, ageSeconds, addresses } = stream
    const total = from === null || until === null ? 0 : until - from
    // A chain that is searched on request is not meant to be read.
    const hasTarget = from !== null && stream.status !== 'on demand'
    const isReading = hasTarget && stream.remaining !== 0 && stream.status !== 'not syncing'
    return [
      ...[formatStatus(stream), name],
      total === 0 || from === null || until === null ? '-' : `${from}-${until - 1}`,
      hasTarget ? shareText(stream) : '-',
      ...(isReading ? [rateText(stream), remainingText(stream)] : ['-', '-']),
      ...[total === 0 ? '-' : String(gapsCount), ageSeconds === null ? '-' : ageText(ageSeconds)],
      addresses === undefined ? '-' : String(addresses),
    ]
  })
  print(table(['status', 'stream', 'blocks or epochs', 'read', 'rate', 'left', 'gaps', 'age', 'addresses'], rows))
  for (const { name, gaps, gapsCount } of streams) {
    for (const { from, until, reason } of gaps.slice(0, gapsShown))
      print(`${name}: ${from}-${until - 1} not read${reason === undefined ? '' : `: ${reason}`}`)
    if (gapsCount > gapsShown) print(`${name}: … and ${gapsCount - gapsShown} more`)
  }
  for (const { name, status, passes } of streams)
    if (status === 'behind' && passes) print(`${name}: ${describePasses(passes)}`)
  for (const stream of streams)
    if (stream.problem !== undefined && needsAttention(stream)) print(`${stream.name}: ${stream.problem}`)
  for (const { name, group, status, ageSeconds } of streams)
    if (status === 'stale' && group === 'markets' && ageSeconds === null)
      print(`${name}: nothing has been read yet. Start the server, or run: tetrad ingest markets`)
  for (const { name, logs } of streams) for (const line of logs ? describeLogs(logs) : []) print(`${name}: ${line}`)
  for (const { name, step } of streams) if (step !== undefined) print(`${name}: ${step}`)
  for (const { name, missingPast } of streams)
    if (missingPast) {
      const { epochs, validators } = missingPast
      print(`${name}: ${epochs} earlier epochs of ${counted(validators, 'added validator')} not read yet`)
    }
  print(`\n${summary(streams)}`)
  for (const { name } of streams.filter(isWaiting)) {
    note(`${name}: no rate has been set yet: tetrad fx rate set EUR/USD … --source ${name.split(' ')[1]}`)
  }
  const broken = streams.find(({ chain, status }) => chain !== undefined && status === 'gaps')
  const isUnreadable = broken?.gaps.some(({ reason }) => reason !== undefined)
  const nodeHint = isUnreadable ? 'First add a node that can trace the blocks (explorer.chains[].rpc). ' : ''
  if (broken) note(`${nodeHint}Fill the gaps with: tetrad repair --chain ${broken.chain}`)
  const network = streams.find(
    ({ group, status, gapsCount }) => group === 'validators' && gapsCount > 0 && status !== 'not syncing',
  )
  if (network) note(`To fill the gaps, ${missingTodo(network.name.split(' ')[1] ?? '')}.`)
}

/** How the blocks after the Amsterdam fork were read. */
export function describeLogs({
  blocks,
  ranges,
  contradicted,
  unverifiedHeaders,
}: NonNullable<Stream['logs']>): string[] {
  const shown = ranges.slice(0, gapsShown).map(({ from, until }) => `${from}-${until - 1}`)
  const more = ranges.length > gapsShown ? ', …' : ''
  return [
    ...(blocks > 0
      ? [`${counted(blocks, 'block')} read from logs (${shown.join(', ')}${more}), others from traces`]
      : []),
    ...(contradicted > 0
      ? [`${counted(contradicted, 'block')} not read from logs, because they are contradictory`]
      : []),
    ...(unverifiedHeaders > 0
      ? [`header hash of ${counted(unverifiedHeaders, 'block')} not verified: unknown fields`]
      : []),
  ]
}

function summary(streams: readonly Stream[]): string {
  const needingAttention = streams.filter(needsAttention).length
  const catching = streams.filter(({ status }) => status === 'catching up').length
  const waiting = streams.filter(isWaiting).length
  const withGaps = streams.filter(({ status, gapless }) => status === 'not syncing' && !gapless).length - waiting
  const ageless = streams.filter(({ status, fresh }) => status === 'healthy' && fresh === null).length
  const also = [
    ...(catching > 0 ? [`${catching} catching up`] : []),
    ...(withGaps > 0 ? [`${withGaps} with gaps and without a source`] : []),
    ...(waiting > 0 ? [`${waiting} without a rate yet`] : []),
    ...(ageless > 0 ? [`${ageless} of unknown age`] : []),
  ]
  if (needingAttention > 0)
    return `${needingAttention} of ${streams.length} stale, behind or with gaps${also.map((text) => `, ${text}`).join('')}.`
  if (also.length === 0) return 'Fresh and without gaps.'
  if (ageless > 0 && also.length === 1) return 'Complete. Age unknown: no server that reads the chain is running.'
  return `No stream is ${ageless > 0 ? 'known to be ' : ''}stale; ${also.join(', ')}.`
}
