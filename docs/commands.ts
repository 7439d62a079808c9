// Generates docs/commands.md from the definitions of the command line.
import type { Argument, Command, Option } from 'commander'
import { buildProgram } from '#cli/main.ts'
import { wrapParagraph } from './endpoints.ts'

/** A command that runs, with all its names: `tetrad keys create`. */
interface NamedCommand {
  readonly path: string
  readonly command: Command
}

const isHelp = (command: Command): boolean => command.name() === 'help'

const leavesOf = (command: Command, path: string): readonly NamedCommand[] => {
  const children = command.commands.filter((child) => !isHelp(child))
  if (children.length === 0) return [{ path, command }]
  return children.flatMap((child) => leavesOf(child, `${path} ${child.name()}`))
}

/** All commands, in the order of `tetrad --help`. The endpoints of `ask` are pages of their own. */
export const listCommands = async (): Promise<readonly NamedCommand[]> => {
  const program = await buildProgram([], false)
  return leavesOf(program, program.name())
}

export async function commandsPage(): Promise<string> {
  const [commands, program] = [await listCommands(), await buildProgram([], false)]
  return `${[
    '# Commands',
    'Generated from the command line by `npm run docs`. Every command prints the same with `--help`.\nInstall it: [Install](install.md).',
    '## Common options',
    optionTable(program.options.filter(({ short }) => short !== '-V')),
    'Exit codes: 0 done, 1 failed, 2 wrong usage, 3 partly done.',
    ...commands.flatMap(({ path, command }) => [
      `## ${path}`,
      wrapParagraph(command.description()),
      `\`\`\`sh\n${examplesOf(command).join('\n')}\n\`\`\``,
      ...argumentTable(command.registeredArguments),
      ...(command.options.length > 0 ? [optionTable(command.options)] : []),
    ]),
    '',
  ].join('\n\n')}`.replace(/\n+$/, '\n')
}

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

const examplesOf = (command: Command): readonly string[] =>
  [...helpOf(command).matchAll(/^ {2}\$ (tetrad .*)$/gm)].map(([, line = '']) => line)

const tableOf = (title: string, rows: readonly (readonly [name: string, text: string])[]): string =>
  [
    `| ${title} | meaning |`,
    '|---|---|',
    ...rows.map(([name, text]) => `| \`${inCell(name)}\` | ${inCell(text)} |`),
  ].join('\n')

const inCell = (text: string): string => text.replaceAll('|', '\\|')

const argumentTable = (list: readonly Argument[]): readonly string[] =>
  list.length === 0
    ? []
    : [
        tableOf(
          'argument',
          list.map((argument) => [argument.name(), argument.description]),
        ),
      ]

const optionTable = (options: readonly Option[]): string =>
  tableOf(
    'option',
    options.filter(({ hidden }) => !hidden).map(({ flags, description }) => [flags, description]),
  )
