export const port: number = 0;
