// Progress of a long command on standard error: one line that is redrawn on a terminal, a line every 10 seconds in a
// log.
export interface Progress {
  /** Adds to the total. */
  plan(more: number): void
  /** Adds to what is done, and shows a text. */
  step(more: number, text: string): void
  end(): void
}

const barCells = 24
const redrawMs = 200
const logLineMs = 10_000

export function openProgress(
  quiet: boolean,
  nowMs: () => number,
  stream: NodeJS.WriteStream = process.stderr,
  unit = 'blocks',
): Progress {
  const startMs = nowMs()
  const everyMs = stream.isTTY ? redrawMs : logLineMs
  let total = 0
  let done = 0
  let drawnMs = stream.isTTY ? Number.NEGATIVE_INFINITY : startMs
  const draw = (text: string) => {
    const line = formatProgress(done, total, nowMs() - startMs, text, unit)
    stream.write(stream.isTTY ? `\r\u001b[2K${line}` : `${line}\n`)
  }
  return {
    plan(more) {
      total += more
    },
    step(more, text) {
      done += more
      if (quiet || nowMs() - drawnMs < everyMs) return
      drawnMs = nowMs()
      draw(text)
    },
    end() {
      if (!quiet && stream.isTTY && Number.isFinite(drawnMs)) stream.write('\r\u001b[2K')
    },
  }
}

function formatProgress(done: number, total: number, tookMs: number, text: string, unit = 'blocks'): string {
  const share = total === 0 ? 1 : done / total
  const filled = Math.round(share * barCells)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(barCells - filled)}`
  const perSecond = tookMs > 0 ? (done * 1000) / tookMs : 0
  const left = perSecond > 0 ? formatDuration((total - done) / perSecond) : '-'
  return `${bar} ${(share * 100).toFixed(1).padStart(5)} %  ${done}/${total} ${unit}  ${Math.round(perSecond)}/s  ETA ${left}  ${text}`
}

function formatDuration(seconds: number): string {
  const rounded = Math.round(seconds)
  const [hours, minutes] = [Math.floor(rounded / 3600), Math.floor((rounded % 3600) / 60)]
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min ${rounded % 60} s` : `${rounded} s`
}
