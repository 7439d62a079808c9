// `tetrad config …`: checks the configuration, shows the effective settings.
import type { Command } from 'commander'
import type { JsonSchema } from '#api/contract/schema.ts'
import { note, paint, print, printJson, printResult } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

export function addConfig(program: Command): void {
  const config = program.command('config').description('Check and show the configuration.')

  config
    .command('check')
    .description('Check file and environment. Lists every error with its position, and warns about unlikely values.')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const { sources, configured, settings } = await configOf(options)
      const { settingsFindings } = await import('#operations/machine.ts')
      const warnings = settingsFindings(settings, configured).filter(({ level }) => level !== 'ok')
      if (options.json)
        return printJson({ ok: true, file: sources.file ?? null, variables: sources.variables, configured, warnings })
      const usedSources = [...(sources.file ? [sources.file] : []), ...sources.variables]
      print(
        `${paint('ok', 'The configuration is valid:')} ${usedSources.length > 0 ? `${usedSources.join(', ')}, and defaults` : 'all defaults'}.`,
      )
      for (const { name, message, todo } of warnings)
        note(`${paint('warning', name, process.stderr)}: ${message}${todo ? `; ${todo}` : ''}.`)
    })

  config
    .command('show')
    .description('Show the effective settings, including defaults. URLs are shortened to their host.')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const { settings } = await configOf(options)
      const [{ presentable }, { writeYaml }, { settingsNode }] = await Promise.all([
        import('#runtime/config.ts'),
        import('#runtime/config/yaml.ts'),
        import('#runtime/config/leaves.ts'),
      ])
      const view = toView(settings, settingsNode, presentable)
      printResult(options, view, writeYaml(view).trimEnd())
    })
}

/** Orders settings as in the schema, and shortens texts that may contain secrets. */
function toView(value: unknown, node: JsonSchema, shorten: (text: string) => string): unknown {
  if (typeof value === 'string') return shorten(value)
  if (Array.isArray(value)) return value.map((item) => toView(item, node.items ?? {}, shorten))
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string, unknown>
  const names = node.properties ? Object.keys(node.properties).filter((name) => name in members) : Object.keys(members)
  return Object.fromEntries(names.map((name) => [name, toView(members[name], node.properties?.[name] ?? {}, shorten)]))
}
