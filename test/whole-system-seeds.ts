// Runs the events of a seed, or those of all seeds of a command line.
import type { SystemRun } from './whole-system-driver.ts'
import { eventText, shrinkEvents } from './whole-system-events.ts'

/** Returns the message of the failure; undefined: everything was right. */
export async function runToEnd<E extends { readonly is: string }>(
  run: SystemRun<E>,
  events: readonly E[],
): Promise<string | undefined> {
  try {
    await run.run(events)
    return undefined
  } catch (error) {
    return `${(error as Error).stack}\nlog:\n${run.logTail()}`
  } finally {
    await run.close()
  }
}

/** Runs the seeds of the command line and prints one line for each; see whole-system.ts. */
export async function runSeeds<E extends { readonly is: string }>(
  args: readonly string[],
  drawEvents: (seed: number) => E[],
  run: (seed: number, events: readonly E[]) => Promise<string | undefined>,
): Promise<void> {
  const optionOf = (option: string) => args.find((arg) => arg.startsWith(`${option}=`))?.slice(option.length + 1)
  const first = Number(optionOf('--first') ?? Number.POSITIVE_INFINITY)
  const only = optionOf('--only')?.split(',').map(Number)
  for (const seed of args.filter((arg) => /^\d+$/.test(arg)).map(Number)) {
    const events = drawEvents(seed).filter((_, at) => at < first && (only?.includes(at) ?? true))
    const startMs = performance.now()
    const failure = await run(seed, events)
    console.log(JSON.stringify({ seed, failure, tookMs: Math.round(performance.now() - startMs) }))
    if (failure === undefined) continue
    for (const [at, event] of events.entries()) console.error(`  ${at}. ${eventText(event)}`)
    console.error(failure)
    process.exitCode = 1
    if (!args.includes('--shrink')) continue
    const shortest = await shrinkEvents(events, async (fewer) => (await run(seed, fewer)) !== undefined)
    console.error(`shortest: ${shortest.map(eventText).join('; ')}`)
  }
}
