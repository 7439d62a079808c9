// Output of commands: tables for people, JSON for scripts. Results go to standard output, everything else to standard
// error. util.styleText uses colour only on a terminal and without NO_COLOR.
import { stripVTControlCharacters, styleText } from 'node:util'
import { stringifyJson } from '#api/contract/json.ts'

export { counted } from '#core/counted.ts'

export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

export const note = (text: string): void => {
  process.stderr.write(`${text}\n`)
}

/** One line; integers keep all digits. */
export const printJson = (value: unknown): void => print(stringifyJson(value))

/** The result of a command. */
export const printResult = ({ json }: { readonly json?: boolean | undefined }, value: unknown, text: string): void =>
  json ? printJson(value) : print(text)

const tones = { ok: 'green', warning: 'yellow', error: 'red' } as const
export type Tone = keyof typeof tones

export const paint = (tone: Tone, text: string, stream: NodeJS.WriteStream = process.stdout): string =>
  styleText(tones[tone], text, { stream })

export const bold = (text: string): string => styleText('bold', text, { stream: process.stdout })

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  // Without colours, which take no room.
  const widthOf = (cell = '') => stripVTControlCharacters(cell).length
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => widthOf(row[column]))))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd()
  return [bold(line(head)), ...rows.map(line)].join('\n')
}

/** `2026-11-15 12:00`, UTC; a dash for never. */
export const minuteText = (atMs: number | undefined): string =>
  atMs === undefined ? '-' : new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')
