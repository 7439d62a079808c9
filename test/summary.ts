// Test reporter: failures in full, and at the end what was covered, room by room, and what was left out.
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

interface Tally {
  files: Set<string>
  passed: number
}

const roomOf = (file: string): string => {
  const parts = relative(process.cwd(), file).split('/')
  return parts[0] === 'server' ? parts.slice(0, parts[1] === 'groups' ? 3 : 2).join('/') : (parts[0] ?? file)
}

// biome-ignore lint/style/noDefaultExport: the test runner asks for the reporter as the default export
export default async function* summary(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const rooms = new Map<string, Tally>()
  const failures: string[] = []
  const leftOut: string[] = []
  for await (const event of events) {
    if (event.type === 'test:summary' && event.data.file) {
      yield `${event.data.success ? '✔' : '✖'} ${relative(process.cwd(), event.data.file)} (${event.data.counts.tests})\n`
    }
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    const { data } = event
    // A suite counts when it was left out: its tests were then never heard of.
    if (!data.file || (data.details.type === 'suite' && data.skip === undefined)) continue
    const name = `${relative(process.cwd(), data.file)}: ${data.name}`
    if (data.skip !== undefined) leftOut.push(`${name} (${data.skip === true ? 'skipped' : data.skip})`)
    else if (event.type === 'test:fail') failures.push(`✖ ${name}\n${describe(event.data.details.error)}`)
    else {
      const tally = rooms.get(roomOf(data.file)) ?? { files: new Set(), passed: 0 }
      tally.files.add(data.file)
      tally.passed += 1
      rooms.set(roomOf(data.file), tally)
    }
  }
  yield '\n\nCovered:\n'
  for (const [room, tally] of [...rooms].sort()) {
    yield `  ${room.padEnd(28)} ${String(tally.passed).padStart(4)} tests in ${tally.files.size} files\n`
  }
  if (leftOut.length > 0) yield `\nLEFT OUT:\n${leftOut.map((line) => `  ${line}\n`).join('')}`
  for (const failure of failures) yield `\n${failure}\n`
  const passed = [...rooms.values()].reduce((sum, tally) => sum + tally.passed, 0)
  yield `\n${passed} passed, ${failures.length} failed, ${leftOut.length} skipped\n`
}

function describe(error: Error | undefined): string {
  const cause = error?.cause instanceof Error ? error.cause : error
  return (cause?.stack ?? String(cause)).replaceAll(/^/gm, '    ')
}
