// `tetrad labels history`: shows the changes of the label registry.
import type { Command } from 'commander'
import type { HistoryEntry } from '#explorer/labels/history.ts'
import { withIngest } from './data.ts'
import { oneChain, subjectOf } from './labels-options.ts'
import { integerBetween } from './parse-integer.ts'
import { minuteText, note, print, printJson, table } from './print.ts'
import type { CommonOptions } from './settings.ts'

interface HistoryOptions extends CommonOptions {
  readonly chain?: string
  readonly limit: number
}

/** Longer changes are truncated in the table; --json has the whole text. */
const changeCharsMax = 100

export function addLabelHistory(labels: Command): void {
  labels
    .command('history')
    .description('Show who changed what and when, newest first.')
    .argument('[what]', 'only this slug or address')
    .option('--chain <id>', 'only this chain', oneChain)
    .option('--limit <n>', 'maximum number of changes', integerBetween(1, 10_000), 100)
    .action((what: string | undefined, _: unknown, command: Command) => history(what, command.optsWithGlobals()))
}

async function history(what: string | undefined, options: HistoryOptions): Promise<void> {
  const { readHistory } = await import('#explorer/labels/history.ts')
  const { slug, address } = what === undefined ? { slug: '', address: undefined } : await subjectOf(what)
  const subject = address ?? slug
  const edits = await withIngest(options, 'found', (ingest) =>
    readHistory(ingest, {
      limit: options.limit,
      ...(subject !== '' && { subject }),
      ...(options.chain !== undefined && { chain: options.chain }),
    }),
  )
  if (options.json) return printJson(edits.map(({ atMs, ...edit }) => ({ at: new Date(atMs).toISOString(), ...edit })))
  if (edits.length === 0) return note(subject === '' ? 'No changes yet.' : `No changes of ${subject}.`)
  const rows = edits.map((edit) => [
    ...[minuteText(edit.atMs), edit.by, edit.via, edit.action, edit.chain],
    ...[edit.source === '' ? edit.subject : `${edit.subject} (${edit.source})`, truncate(formatChange(edit))],
  ])
  print(table(['time', 'author', 'via', 'action', 'chain', 'subject', 'fields'], rows))
}

/** `name: "A" → "B"`; for an added or removed row, its name. */
function formatChange({ action, before = {}, after = {} }: HistoryEntry): string {
  if (action !== 'changed') return JSON.stringify({ ...before, ...after }['name' as never])
  const old = before as Record<string, unknown>
  return Object.entries(after)
    .filter(([field]) => field !== 'updatedUnix' || Object.keys(after).length === 1)
    .map(([field, value]) => `${field}: ${JSON.stringify(old[field])} → ${JSON.stringify(value)}`)
    .join(', ')
}

const truncate = (text: string): string => {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > changeCharsMax ? `${line.slice(0, changeCharsMax - 1)}…` : line
}
