// The seed of the demo. The examples of the contract match its data.
export const demoSeed = 'harbour'
