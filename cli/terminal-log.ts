// The server's log on a terminal: one readable line per entry instead of JSON, with colour for the level.
import { paint, type Tone } from './print.ts'

const levels: Readonly<Record<number, readonly [label: string, tone?: Tone]>> = {
  20: ['debug'],
  30: ['info '],
  40: ['warn ', 'warning'],
  50: ['error', 'error'],
}

/** Undefined for the entry that repeats what `tetrad serve` prints itself. */
export function formatLogLine(line: string, stream: NodeJS.WriteStream): string | undefined {
  const { level, time, msg, ...fields } = JSON.parse(line) as { level: number; time: string; msg: string }
  if (msg === 'listening') return undefined
  const [label, tone] = levels[level] ?? ['     ']
  const values = Object.entries(fields)
    .flatMap(([name, value]) => membersOf(name, value))
    .map(([name, value]) => ` ${name}=${formatValue(value)}`)
  return `${time.slice(11, 19)} ${tone ? paint(tone, label, stream) : label} ${msg}${values.join('')}\n`
}

/** An object becomes one value for each of its members. */
const membersOf = (name: string, value: unknown): [name: string, value: unknown][] =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.entries(value).map(([member, inner]) => [`${name}.${member}`, inner])
    : [[name, value]]

/** Other texts are quoted, also so that control characters of callers do not reach the terminal. */
const formatValue = (value: unknown): string =>
  typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value)

export function writeLogLine(line: string, stream: NodeJS.WriteStream = process.stderr): void {
  const text = stream.isTTY ? formatLogLine(line, stream) : line
  if (text !== undefined) stream.write(text)
}
