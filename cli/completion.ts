// `tetrad completion bash|zsh|fish`: prints a script with which a shell completes commands, options and their values. It
// is generated from the commands of this version, and needs no process of its own while the user types.
import { Argument, type Command } from 'commander'
import { print } from './print.ts'

export function addCompletion(program: Command, buildAll: () => Promise<Command>): void {
  program
    .command('completion')
    .description('Print a script that completes commands, options and their values in your shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .addHelpText('after', installation)
    .action(async (shell: keyof typeof scripts) => print(scripts[shell](listPositions(await buildAll()))))
}

const installation = `
Install it, and open a new shell:
  $ tetrad completion bash > ~/.local/share/bash-completion/completions/tetrad
  $ tetrad completion zsh > ~/.zfunc/_tetrad            with fpath+=~/.zfunc before compinit in ~/.zshrc
  $ tetrad completion fish > ~/.config/fish/completions/tetrad.fish`

interface Word {
  readonly text: string
  readonly description: string
}

/** What can follow after the words of a command. */
export interface Position {
  /** `keys create`; empty: after `tetrad`. */
  readonly path: string
  /** Subcommands, and the choices of the first argument. */
  readonly words: readonly Word[]
  readonly options: readonly Word[]
  /** Options with a value → its choices; none: any text, or a file. */
  readonly values: ReadonlyMap<string, readonly string[]>
}

export function listPositions(program: Command): Position[] {
  const shared = program.options
  const visit = (command: Command, path: string): Position[] => {
    const subcommands = command.commands.map((each) => ({ text: each.name(), description: each.description() }))
    const choices = command.registeredArguments[0]?.argChoices ?? []
    const options = [
      ...command.options,
      ...(command === program ? [] : shared.filter(({ long }) => long !== '--version')),
    ]
    const named = options.flatMap(({ long, description }) => (long ? [{ text: long, description }] : []))
    const withValue = options.filter((option) => option.required || option.optional)
    const position: Position = {
      path,
      words: [...subcommands, ...choices.map((text) => ({ text, description: '' }))],
      options: [...named, { text: '--help', description: 'display help for command' }],
      values: new Map(withValue.flatMap(({ long, argChoices }) => (long ? [[long, argChoices ?? []] as const] : []))),
    }
    return [position, ...command.commands.flatMap((each) => visit(each, `${path} ${each.name()}`.trim()))]
  }
  return visit(program, '')
}

const textsOf = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ')

/** `case` statements that bash and zsh share. `at` is the position, `previous` the word before the cursor. */
function casesOf(positions: readonly Position[]): { readonly step: string; readonly propose: string } {
  const paths = positions.filter(({ path }) => path !== '').map(({ path }) => `"${path}"`)
  const values = positions.flatMap(({ path, values }) =>
    [...values].map(([option, choices]) => `    "${path}|${option}") found="${choices.join(' ')}"; return ;;`),
  )
  const words = positions.map(
    ({ path, words, options }) =>
      `    "${path}") case "$current" in -*) found="${textsOf(options)}" ;; *) found="${textsOf(words)}" ;; esac ;;`,
  )
  return {
    step: `    case "\${at:+$at }$word" in ${paths.join('|')}) at="\${at:+$at }$word" ;; esac`,
    propose: `_tetrad_propose() {
  case "$at|$previous" in
${values.join('\n')}
  esac
  case "$at" in
${words.join('\n')}
  esac
}`,
  }
}

function bashScript(positions: readonly Position[]): string {
  const { step, propose } = casesOf(positions)
  return `# Completion of tetrad for bash.
${propose}
_tetrad() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" at="" found="" word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
${step}
  done
  _tetrad_propose
  COMPREPLY=($(compgen -W "$found" -- "$current"))
}
complete -o default -F _tetrad tetrad`
}

function zshScript(positions: readonly Position[]): string {
  const { step, propose } = casesOf(positions)
  return `#compdef tetrad
# Completion of tetrad for zsh.
${propose}
_tetrad() {
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}" at="" found="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
${step}
  done
  _tetrad_propose
  if [ -n "$found" ]; then compadd -- \${=found}; else _files; fi
}
if [ "$funcstack[1]" = "_tetrad" ]; then _tetrad "$@"; else compdef _tetrad tetrad; fi`
}

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`

function fishScript(positions: readonly Position[]): string {
  const paths = positions.filter(({ path }) => path !== '').map(({ path }) => quoted(path))
  const lines = positions.flatMap(({ path, words, options, values }) => {
    const at = `complete -c tetrad -n ${quoted(`__tetrad_at ${quoted(path)}`)}`
    return [
      ...words.map(({ text, description }) => `${at} -f -a ${quoted(text)} -d ${quoted(description)}`),
      ...options.map(({ text, description }) => {
        const choices = values.get(text)
        const value = choices === undefined ? '' : choices.length === 0 ? ' -r' : ` -x -a ${quoted(choices.join(' '))}`
        return `${at} -l ${text.slice(2)}${value} -d ${quoted(description)}`
      }),
    ]
  })
  return `# Completion of tetrad for fish.
function __tetrad_at
  set -l at
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    contains -- $next ${paths.join(' ')}; and set at $next
  end
  test "$at" = "$argv[1]"
end
${lines.join('\n')}`
}

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } as const
