// How far a long piece of work is: a line that is rewritten on a terminal, a line now and then in a log.
export interface Progress {
  /** More to do than was known. */
  plan(total: number): void
  /** So much is done, with what else there is to say. */
  step(done: number, words: string): void
  end(): void
}

const barCells = 24
const redrawMs = 200
const logLineMs = 10_000

/** On standard error; `quiet` for scripts. */
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

export function formatProgress(done: number, total: number, tookMs: number, text: string, unit = 'blocks'): string {
  const share = total === 0 ? 1 : done / total
  const filled = Math.round(share * barCells)
  const bar = `${'█'.repeat(filled)}${'░'.repeat(barCells - filled)}`
  const perSecond = tookMs > 0 ? (done * 1000) / tookMs : 0
  const left = perSecond > 0 ? formatDuration((total - done) / perSecond) : '-'
  return `${bar} ${(share * 100).toFixed(1).padStart(5)} %  ${done}/${total} ${unit}  ${Math.round(perSecond)}/s  ETA ${left}  ${text}`
}

function formatDuration(seconds: number): string {
  const whole = Math.round(seconds)
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)]
  return hours > 0 ? `${hours} h ${minutes} min` : minutes > 0 ? `${minutes} min ${whole % 60} s` : `${whole} s`
}
