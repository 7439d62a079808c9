// `tetrad simulator`: runs the simulated nodes and feeds on their own, and prints a configuration with their URLs.
import type { Command } from 'commander'
import { note, print, printJson } from './print.ts'
import { clock } from './runtime.ts'
import type { CommonOptions } from './settings.ts'
import { untilStopped } from './stop.ts'

export function addSimulator(program: Command): void {
  program
    .command('simulator')
    .description(
      'Run the simulated nodes and feeds of the demo, without a server. Prints a configuration with their URLs.',
    )
    .action((_: unknown, command: Command) => runSimulator(command.optsWithGlobals()))
}

async function runSimulator(options: CommonOptions): Promise<void> {
  const [{ startStandaloneSimulator }, { writeYaml }] = await Promise.all([
    import('#simulator/standalone.ts'),
    import('#runtime/config/yaml.ts'),
  ])
  const simulator = await startStandaloneSimulator()
  const stopped = untilStopped(clock, () => Promise.resolve(simulator[Symbol.asyncDispose]()))
  if (options.json) printJson(simulator.settings)
  else {
    print(writeYaml(simulator.settings).trimEnd())
    note('The simulated nodes and feeds are running. Stop with Ctrl-C.')
  }
  await stopped
}
