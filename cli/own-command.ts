// How to call this command line, for hints: npm puts `tetrad` on the path of `npx` and of scripts only.
export const ownCommand = (env: NodeJS.ProcessEnv = process.env): string =>
  env.npm_command === undefined ? 'tetrad' : 'npx tetrad'
