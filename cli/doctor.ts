// `tetrad doctor`: is everything well, and what to do about what is not. Looks at configuration, folder, disk, files, nodes,
// sources and clocks, and works out a sample of stored answers once more.
import { type Command, InvalidArgumentError } from 'commander'
import type { DoctorFinding } from '#operations/diagnosis.ts'
import { queryOwner } from './data-owner.ts'
import { describeFailure } from './failure.ts'
import { print, printJson } from './print.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

interface Options extends CommonOptions {
  readonly sample: number
  readonly offline?: boolean
}

export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description(
      'Examine everything and say what to do; fails when something is bad. Beside a running server or without.',
    )
    .option('--sample <n>', 'stored answers of each kind to work out again; 0: none', sampleSize, 20)
    .option('--offline', 'do not ask nodes and sources')
    .action((_: unknown, command: Command) => doctor(command.optsWithGlobals()))
}

async function doctor(options: Options): Promise<void> {
  const findings: DoctorFinding[] = []
  const add = (found: readonly DoctorFinding[]) => {
    findings.push(...found)
    if (!options.json) for (const one of found) print(formatFinding(one))
  }
  const config = await configOf(options).catch((error: unknown) => {
    add([
      {
        name: 'configuration',
        level: 'bad',
        message: describeFailure(error).message,
        todo: 'see docs/configuration.md',
      },
    ])
    return undefined
  })
  if (config) {
    const [{ machineFindings, settingsFindings }, { systemClock }] = await Promise.all([
      import('#operations/machine.ts'),
      import('#runtime/clock.ts'),
    ])
    add(settingsFindings(config.settings, config.configured))
    add(await machineFindings(dataDirOf(options), config.settings.store))
    if (!options.offline) {
      const { connectivityFindings: reachFindings } = await import('#operations/connectivity.ts')
      add(await reachFindings({ settings: config.settings, clock: systemClock }))
    }
    add(await inside(options))
  }
  const count = (level: DoctorFinding['level']) => findings.filter((one) => one.level === level).length
  const healthy = count('bad') === 0
  if (options.json) printJson({ healthy, findings })
  else
    print(
      `\n${healthy ? 'Healthy' : 'Not healthy'}: ${count('bad')} bad, ${count('warn')} to look at, ${count('ok')} well.`,
    )
  if (!healthy) process.exitCode = 1
}

/** What only the owner of the stores can tell. */
async function inside(options: Options): Promise<readonly DoctorFinding[]> {
  const { storeDiagnoses } = await import('#operations/doctor.ts')
  const { sample } = options
  try {
    return await queryOwner(options, {
      name: 'doctor',
      input: { sample },
      runHere: (context) => storeDiagnoses(context, sample),
    })
  } catch (error) {
    const message = describeFailure(error).message
    return [{ name: 'stores', level: 'bad', message, todo: 'see the log of the server' }]
  }
}

const levelLabels = { ok: 'ok  ', warn: 'LOOK', bad: 'BAD ' } as const

function formatFinding({ name, level, message, todo }: DoctorFinding): string {
  const line = `${levelLabels[level]}  ${name}: ${message}`
  return todo === undefined ? line : `${line}\n        → ${todo}`
}

function sampleSize(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 0 || count > 1000) throw new InvalidArgumentError('It must be 0 to 1000.')
  return count
}
