// The environment variables of the process, for values that must not be part of the settings.
export type Environment = Readonly<Record<string, string | undefined>>

export const processEnvironment: Environment = process.env
