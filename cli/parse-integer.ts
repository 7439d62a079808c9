// Parses whole numbers of the command line.
import { InvalidArgumentError } from 'commander'

/** A parser for an option. `problem` is shown after the option's name. */
export const integerBetween =
  (min: number, max: number, problem = `It must be ${min} to ${max}.`) =>
  (text: string): number => {
    const number = Number(text)
    if (/^\d{1,15}$/.test(text) && number >= min && number <= max) return number
    throw new InvalidArgumentError(problem)
  }
