// Progress of a long command on standard error: one line that is redrawn on a terminal, a line every few seconds in a
// log.
import { ageText } from '#core/age.ts'
import type { Clock } from '#runtime/clock.ts'
import { clock } from './runtime.ts'

const barCells = 24
const redrawMs = 200
const eraseLine = '\r\u001b[2K'

/** Replaces the current line of a terminal. Does nothing elsewhere. */
export function redrawLine(text: string, stream: Screen = process.stderr): void {
  if (stream.isTTY) stream.write(`${eraseLine}${text}`)
}

/** A line that is drawn at most every few milliseconds. */
export function openLine(quiet: boolean, logEveryMs = 10_000) {
  const { stderr } = process
  const everyMs = stderr.isTTY ? redrawMs : logEveryMs
  let drawnMs = stderr.isTTY ? Number.NEGATIVE_INFINITY : clock.monotonicMs()
  return {
    draw(format: () => string): void {
      if (quiet || clock.monotonicMs() - drawnMs < everyMs) return
      drawnMs = clock.monotonicMs()
      stderr.write(stderr.isTTY ? `${eraseLine}${format()}` : `${format()}\n`)
    },
    end(): void {
      if (!quiet && Number.isFinite(drawnMs)) redrawLine('')
    },
  }
}

type Screen = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>

interface ActivityOptions {
  /** With --json, nothing is shown. */
  readonly quiet?: boolean | undefined
  readonly clock?: Pick<Clock, 'every' | 'monotonicMs'>
  readonly stream?: Screen
}

const tickMs = 1000
const logTicks = 10

/** Shows what a command does while it works, if its share is not known. `show` names the next step. */
export async function withActivity<T>(
  text: string,
  work: (show: (text: string) => void) => Promise<T>,
  { quiet = false, clock: time = clock, stream = process.stderr }: ActivityOptions = {},
): Promise<T> {
  if (quiet) return work(() => {})
  let step = text
  let startMs = time.monotonicMs()
  let ticks = 0
  const show = (next: string) => {
    step = next
    startMs = time.monotonicMs()
    // At once, because a check of a database keeps the process busy.
    redrawLine(`${step} …`, stream)
  }
  show(text)
  const stop = time.every(tickMs, () => {
    ticks += 1
    const line = `${step} … ${ageText(Math.round((time.monotonicMs() - startMs) / 1000))}`
    if (stream.isTTY) redrawLine(line, stream)
    else if (ticks % logTicks === 0) stream.write(`${line}\n`)
  })
  try {
    return await work(show)
  } finally {
    stop()
    redrawLine('', stream)
  }
}

export function openProgress(quiet: boolean, unit = 'blocks') {
  const line = openLine(quiet)
  let startMs = clock.monotonicMs()
  let total = 0
  let done = 0
  return {
    /** Adds to the total. */
    plan(more: number): void {
      // What happened before is not part of the rate.
      if (done === 0) startMs = clock.monotonicMs()
      total += more
    },
    /** Adds to what is done, and shows a text. */
    step(more: number, text: string): void {
      done += more
      line.draw(() => formatProgress(done, total, clock.monotonicMs() - startMs, text, unit))
    },
    end: line.end,
  }
}

export const bar = (share: number): string => '█'.repeat(Math.round(share * barCells)).padEnd(barCells, '░')

function formatProgress(done: number, total: number, tookMs: number, text: string, unit: string): string {
  const share = total === 0 ? 1 : done / total
  const perSecond = tookMs > 0 ? (done * 1000) / tookMs : 0
  const left = perSecond > 0 ? ageText(Math.round((total - done) / perSecond)) : '-'
  return `${bar(share)} ${(share * 100).toFixed(1).padStart(5)} %  ${done}/${total} ${unit}  ${Math.round(perSecond)}/s  ETA ${left}  ${text}`
}
