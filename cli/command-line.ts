// The commands of `tetrad`. An unknown option that is part of the name of others, such as `--day`, leads to these; commander
// suggests only names that are spelled alike.
import { Command, type ErrorOptions } from 'commander'

export class CommandLine extends Command {
  override createCommand(name?: string): CommandLine {
    return new CommandLine(name)
  }

  override error(message: string, options?: ErrorOptions): never {
    const [, word] = /^error: unknown option '--([a-z-]+)'/.exec(message) ?? []
    const longer = this.options.flatMap(({ long }) =>
      long
        ?.slice(2)
        .split('-')
        .includes(word ?? '')
        ? long
        : [],
    )
    if (longer.length === 0) return super.error(message, options)
    return super.error(`error: unknown option '--${word}'\n(Use ${longer.join(', ')}.)`, options)
  }
}
