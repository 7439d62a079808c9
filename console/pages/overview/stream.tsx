// One stream of data: what it is, whether it is up to date, and how much of its target has been read.
import type { StreamView } from '#shared/console-calls.ts'
import { CoverageBar } from '../../parts/coverage-bar.tsx'
import { formatCount, formatDuration } from '../../parts/format.ts'
import { useChainName } from '../../parts/use-chains.ts'
import { coverageText, rateText } from './coverage-text.ts'

interface StreamProps {
  readonly stream: StreamView
}

/** `chain 1` → `Ethereum (1)`, `network mainnet` → `Network mainnet`. */
export function useStreamName(): (stream: StreamView) => string {
  const chainName = useChainName()
  return ({ group, name }) => {
    const chain = group === 'explorer' ? /^chain (\d+)$/.exec(name)?.[1] : undefined
    return chain === undefined ? name.slice(0, 1).toUpperCase() + name.slice(1) : chainName(chain)
  }
}

/** Data without a node or source cannot become old: it is what was imported. */
const badgeOf = ({ status, gapless }: StreamView): readonly [tone: string, label: string] => {
  if (status === 'not syncing') return ['', gapless ? 'no gaps' : 'gaps']
  return [tones[status], status === 'healthy' ? 'up to date' : status]
}

const tones: Readonly<Record<StreamView['status'], string>> = {
  healthy: 'good',
  'catching up': 'warn',
  behind: 'warn',
  stale: 'bad',
  gaps: 'bad',
  'on demand': '',
  waiting: '',
  'not syncing': '',
}

export function Stream({ stream }: StreamProps) {
  const nameOf = useStreamName()
  const [tone, label] = badgeOf(stream)
  return (
    <div className="stream">
      <div className="spread">
        <strong>{nameOf(stream)}</strong>
        <span className={`badge ${tone}`}>{label}</span>
      </div>
      {stream.status === 'on demand' ? (
        <p className="soft small">The node is searched on request. Nothing is read ahead of time.</p>
      ) : (
        <StreamProgress stream={stream} />
      )}
      <GapReasons stream={stream} />
    </div>
  )
}

function StreamProgress({ stream }: StreamProps) {
  const step = stream.step === undefined ? '' : `Now: ${stream.step}.`
  const sentences = [coverageText(stream), step, rateText(stream), ageText(stream), forkText(stream)].filter(
    (text) => text !== '',
  )
  return (
    <>
      {stream.from !== null && stream.until !== null && <CoverageBar stream={stream} />}
      <p className="soft small">{sentences.join(' ')}</p>
    </>
  )
}

function forkText({ nextFork }: StreamView): string {
  if (!nextFork) return ''
  const { name, epoch, at, supported } = nextFork
  const subject = epoch === null ? name : `${name} of epoch ${formatCount(epoch)}`
  return `Next fork: ${subject}, ${at.slice(0, 10)}${supported ? '' : ', which this version does not support'}.`
}

/** Epochs are read when they are final, so that the newest one may be old although nothing is missing. */
function ageText({ group, status, ageSeconds }: StreamView): string {
  if (status === 'not syncing') return 'No node or source is configured, so nothing is added.'
  if (ageSeconds === null) return ''
  const age = formatDuration(Math.max(0, ageSeconds))
  if (group !== 'validators') return `Newest data ${age} old.`
  const newest = `The newest epoch ended ${age} ago`
  return status === 'healthy' ? `${newest}: epochs are read when they are final, three epochs later.` : `${newest}.`
}

const reasonsShown = 3

/** Why blocks or epochs are missing, the newest first. */
function GapReasons({ stream }: StreamProps) {
  const explained = stream.gaps.filter(({ reason }) => reason !== undefined).slice(-reasonsShown)
  if (explained.length === 0) return null
  return (
    <ul className="small">
      {explained.toReversed().map(({ from, until, reason }) => (
        <li key={from}>
          {stream.group === 'explorer' ? 'Blocks' : 'Epochs'} {formatCount(from)} to {formatCount(until - 1)} are
          missing: {reason}. To fill the gap, add a node that{' '}
          {stream.group === 'explorer' ? 'can trace them' : 'has these states'}.
        </li>
      ))}
    </ul>
  )
}
